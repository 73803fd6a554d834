// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact finds secrets and personal data in telemetry and replaces them where they stand.
//
// It works on decoded values: a string attribute that holds JSON that holds JSON is read down to its last string, and what is
// replaced there is replaced in the original text, at the place of the hit. Everything else keeps its bytes: the order of keys,
// white space, number literals and escapes. What was valid JSON stays valid JSON.
//
// A hit becomes a token, [REDACTED:<rule>:<digest>], whose digest is an HMAC of the value under the key of the deployment. The same
// value is the same token wherever it stands, so that arguments stay equal, sessions stay grouped, and a replay can verify a live
// value against a token (Key.VerifyToken) without anybody holding the value.
//
//	r, err := redact.New(redact.Default().WithKey(key))
//	rep := &redact.Report{}
//	r.Traces(td, rep)                   // in place; so do Logs, Metrics and Attributes
//	text := r.String("tool.args", text, rep) // one string under its key, JSON inside or not
//	hits := r.ScanTraces(td)            // what would be replaced: place and rule, never the value
//
// This package holds what an operator chooses: the profile, files with rules, the key. What is searched for and how stands in detect, the walk
// over telemetry in otlp, the text form of tokens in token.
//
// Redaction is a pure function of profile, key and value; it knows nothing of the order, the time or the process, and applying it
// twice is applying it once. A Redactor is safe for concurrent use.
//
// Rules are of three classes. Known forms (a GitHub token, a private key, the password in a URL) apply everywhere. Checked
// personal data (a card number with a Luhn digit, an IBAN) applies to every value that is no protocol id. Guesses (entropy under a
// credential-like key, a phone number by its shape) do not apply to protocol ids either: trace, call and response ids, digests,
// signatures.
package redact
