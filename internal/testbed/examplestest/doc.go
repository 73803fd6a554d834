// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package examplestest tests what examples/ promises where that takes modules that nobody else should have to require: contrib's Kafka
// components, configured by the files of examples/kafka, against a broker in the process; the dashboard and the alerts of
// examples/grafana with the parsers of Prometheus. So it is a module of its own.
package examplestest
