// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package tape

// SchemaID names the JSON Schema of tapes.
const SchemaID = "https://github.com/tapedeck/tapedeck/docs/schema/agent-tape-1.1.schema.json"

// JSONSchema returns the JSON Schema (2020-12) of tapes, which docs/schema publishes. Package tape/schema validates against it.
func JSONSchema() []byte { return tapeRecord.Schema(SchemaID, "Agent tape 1.0") }

//go:generate go test . -run "IsCurrent|InTheOrderOfTheFormat" -update
