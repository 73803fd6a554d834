// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// ReferenceSuffix behind the name of an attribute names the one that holds a URI in its place: OpenTelemetry's upload hook puts the
// content there, as JSON.
const ReferenceSuffix = "_ref"

// Referable are the attributes whose content may lie at a reference.
var Referable = []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"}

// Reference returns the URI at which the content of an attribute lies, "" when it is not referred to.
func Reference(m pcommon.Map, name string) string {
	return decode.Attributes(m).Text(name + ReferenceSuffix)
}

// External returns the part that stands for content that is there by reference only, and notes it.
func External(a decode.Attributes, name string, o *Observation) (p decode.Part, ok bool) {
	if a.Has(name) {
		return decode.Part{}, false
	}
	uri := Reference(pcommon.Map(a), name)
	if uri == "" {
		return decode.Part{}, false
	}
	o.AddNote(tape.CodeExternalContent, name, "content lies at a reference")
	return decode.Part{Part: tape.Part{Type: tape.PartExternal, URI: uri}, Label: tape.External}, true
}
