// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/internal/reconstruct/spantree"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// tellsTool gives a tool call what the program wrote of the function that it runs.
//
// Needs: a span right inside that of the call, with its name.
// Refuses: a call of which the instrumentation recorded content; an argument by position, whose name is not
// known.
// Seen in: applications that instrument the functions behind their tools.
func (t *Call) tellsTool(n *spantree.Node) {
	o := t.Obs
	if n.Obs.Called.Name != o.Name || o.Args.Present() || o.Result.Present() || o.Args.Label != "" || o.Result.Label != "" || !slices.Contains(t.Nodes, n.Up) {
		return
	}
	inner := n.Obs.AsTool()
	if inner.Args.Value.Kind() != exactjson.Object {
		inner.Args = genai.Content{}
	}
	told := *n
	told.Obs = inner
	t.Join(&told)
}
