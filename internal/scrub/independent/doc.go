// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package independent has decks searched by a scanner that shares nothing with the detectors of this project: gitleaks, TruffleHog, or any program
// that keeps a small contract. What redaction and the gate do not know, a search with the same rules cannot find either.
//
// The scanner is a program that is installed; it reads the decoded strings of objects as text files in a private temporary folder. What it found
// is mapped back to the object and the path of the string. Nothing that it writes is ever shown: a report holds the secrets.
package independent
