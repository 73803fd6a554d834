// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package independent has decks searched by a scanner that shares nothing with the detectors of this project: gitleaks, TruffleHog, or any program
// that keeps a small contract. A search with the rules of redaction and the gate cannot find what those do not know.
//
// The scanner is an installed program. It reads the decoded strings of objects as text files in a private temporary folder. Each finding is mapped
// back to the object and the path of the string. The output of the scanner is never shown, because its reports hold the secrets.
package independent
