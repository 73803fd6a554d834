// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package otlp walks over telemetry in the form of pdata. It has each string, number and key searched and replaced in place. Package detect
// decides what is found, and how.
package otlp
