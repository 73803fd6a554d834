// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/tape"
)

// ReferenceSuffix behind the name of an attribute names the one that holds a URI in its place: OpenTelemetry's upload hook puts the
// content there, as JSON.
const ReferenceSuffix = "_ref"

// Referable are the attributes whose content may lie at a reference.
var Referable = []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"}

// Reference returns the URI at which the content of an attribute lies, "" when it is not referred to.
func Reference(m pcommon.Map, name string) string { return attributes(m).str(name + ReferenceSuffix) }

// external returns the part that stands for content that is there by reference only, and notes it.
func external(a attributes, name string, o *Observation) (p Part, ok bool) {
	if a.has(name) {
		return Part{}, false
	}
	uri := Reference(pcommon.Map(a), name)
	if uri == "" {
		return Part{}, false
	}
	o.note(tape.CodeExternalContent, name, "content lies at a reference")
	return Part{Part: tape.Part{Type: tape.PartExternal, URI: uri}, Label: tape.External}, true
}
