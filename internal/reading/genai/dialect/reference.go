// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package dialect

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
)

// ReferenceSuffix ends the name of the attribute that holds a URI in place of content. The upload hook of
// OpenTelemetry stores the content there, as JSON.
const ReferenceSuffix = "_ref"

// Referable are the attributes whose content may be stored at a reference.
var Referable = []string{"gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.system_instructions", "gen_ai.tool.definitions"}

// Reference returns the URI of the content of an attribute, "" if the span has none.
func Reference(m pcommon.Map, name string) string {
	return decode.Attributes(m).Text(name + ReferenceSuffix)
}

// External returns a part in place of content that is stored at a reference, and adds a note.
func External(a decode.Attributes, name string, o *Draft) (p decode.Part, ok bool) {
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
