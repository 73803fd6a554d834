// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// Both formats of the registry: groups, and one list for each signal.
const (
	groups = `
groups:
  - id: registry.gen_ai
    type: attribute_group
    attributes:
      - id: gen_ai.operation.name
        type:
          members: [{id: chat, value: chat}]
  - {id: event.gen_ai.choice, type: event, name: gen_ai.choice}
  - {id: span.mcp.client, type: span, span_kind: client, attributes: [{ref: server.port}, {ref: mcp.session.id}]}
`
	lists = `
attributes:
  - {key: gen_ai.operation.name, type: {members: [{value: chat}, {value: plan}]}}
  - {key: gen_ai.request.model, type: string}
spans:
  - type: gen_ai.plan.internal
    kind: internal
    name: {note: how it is made}
span_refinements:
  - {id: openai.client, attributes: [{ref_group: some}, {ref: gen_ai.operation.name}]}
attribute_groups:
  - {id: some, attributes: [{ref: gen_ai.request.model}, {ref: server.port}]}
`
	table = `# head
operation	chat	gen_ai.operation.name	span	model_call		old
operation	later	gen_ai.operation.name	span	-	why	by hand
`
	want = `attribute	gen_ai.operation.name	enum				new
attribute	server.port	general				new
attribute	gen_ai.request.model	string				new
operation	chat	gen_ai.operation.name	span	model_call		new
operation	plan	gen_ai.operation.name				new
operation	later	gen_ai.operation.name	span	-	why	by hand
span	mcp.client	client				old
span	gen_ai.plan.internal	internal				new
span	openai.client					new
on	gen_ai.request.model	openai.client				new
event	gen_ai.choice	span event				old
event	gen_ai.choice	log record				old
`
)

func TestRowsOfBothFormats(t *testing.T) {
	all := &rows{at: map[string]int{}, groups: map[string][]attribute{}}
	for _, file := range [][2]string{{groups, "old"}, {lists, "new"}} {
		var d document
		if err := yaml.Unmarshal([]byte(file[0]), &d); err != nil {
			t.Fatal(err)
		}
		for _, g := range d.Shared {
			all.groups[g.ID] = g.Attributes
		}
		all.document(&d, file[1])
	}
	if head := all.merge(table); head != "# head\n" {
		t.Errorf("head %q", head)
	}
	if got := all.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
