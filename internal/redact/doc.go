// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package redact finds secrets and personal data in telemetry and replaces them in place.
//
// It works on decoded values. A string attribute may hold JSON that holds JSON: it is read down to its last string. A replacement changes the
// original text at the place of the hit only. Everything else keeps its bytes: the order of keys, white space, number literals and escapes.
// Valid JSON stays valid JSON.
//
// A hit becomes a token, [REDACTED:<rule>:<digest>]. The digest is an HMAC of the value under the key of the deployment. The same value gives
// the same token everywhere, so arguments stay equal and sessions stay grouped. A replay can verify a live value against a token
// (Key.VerifyToken) without anybody holding the value.
//
//	r, err := redact.New(redact.Default().WithKey(key))
//	rep := &redact.Report{}
//	r.Traces(td, rep)                   // in place; so do Logs, Metrics and Attributes
//	text := r.String("tool.args", text, rep) // one string under its key, JSON inside or not
//	hits := r.ScanTraces(td)            // what would be replaced: place and rule, never the value
//
// This package holds what an operator chooses: the profile, files with rules, the key. Package detect holds the search, package otlp the walk
// over telemetry, package token the text form of tokens.
//
// Redaction is a pure function of profile, key and value. It does not depend on order, time or process. Applying it twice is the same as
// applying it once. A Redactor is safe for concurrent use.
//
// Rules are of three classes. Known forms (a GitHub token, a private key, the password in a URL) apply everywhere. Checked personal data (a
// card number with a Luhn digit, an IBAN) applies to every value that is no protocol id. Guesses (entropy under a credential-like key, a phone
// number by its shape) do not apply to protocol ids either. Protocol ids are trace, call and response ids, digests and signatures.
package redact
