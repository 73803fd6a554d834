// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp walks over telemetry in the form of pdata, and has each string, number and key searched and replaced where it stands. What is
// found, and how, is a matter of package detect.
package otlp
