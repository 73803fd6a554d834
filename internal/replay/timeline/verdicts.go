// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"cmp"
	"strconv"
	"time"

	"github.com/tapedeck/tapedeck/tape"
)

// verdicts shows what was judged, those on shown events and on the whole.
func (p *printer) verdicts() {
	if len(p.t.Verdicts) == 0 {
		return
	}
	p.title(Plural(len(p.t.Verdicts), "verdict", "verdicts"))
	for i := range p.t.Verdicts {
		v := &p.t.Verdicts[i]
		p.field("  ", "", Judgement(v), 1, "")
		if v.Explanation != "" {
			p.field("    ", "because", v.Explanation, answerLines, "")
		}
	}
}

// Judgement is a verdict in one line, without its explanation.
func Judgement(v *tape.Verdict) string {
	result := join(v.ValueText(), v.Label)
	if v.Error != nil {
		result = join(result, "failed: "+v.Error.Type)
	}
	what := "the " + string(v.Of)
	switch {
	case v.Seq > 0:
		what = "event " + strconv.Itoa(v.Seq)
	case v.Of == tape.OfSpan:
		what = "span " + v.SpanID
	}
	when := ""
	if !v.At.IsZero() {
		when = v.At.Format(time.DateTime)
	}
	text := cmp.Or(v.Name, "(no name)")
	if result != "" {
		text += ": " + result
	}
	return text + " (" + join("of "+what, v.Judge, when) + ")"
}
