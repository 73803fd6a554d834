// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

//go:generate go -C ../../../tools run ./gitleaksrules -o ../internal/redact/detect/rules_gitleaks.go

// Package detect finds secrets and personal data in text, and says what replaces them. It knows texts, JSON in texts, names of values, and texts that
// came in pieces. It knows nothing of telemetry.
//
// Three places hold the rules: rules_vendor.go (forms of services), rules_gitleaks.go (generated) and detector.go (rules that are code, in a file each).
// keyname.go reads the names of values.
package detect
