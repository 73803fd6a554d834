// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package openinference

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// feedback are the attributes of annotations and evaluations: the beginning of their names, the member that
// holds one, and what is judged.
var feedback = []struct {
	prefix, member string
	of             tape.VerdictTarget
}{
	{"annotations.", "annotation", tape.OfSpan},
	{"evaluations.", "evaluation", tape.OfSpan},
	{"trace.annotations.", "annotation", tape.OfRun},
	{"trace.evaluations.", "evaluation", tape.OfRun},
	{"session.annotations.", "annotation", tape.OfSession},
	{"session.evaluations.", "evaluation", tape.OfSession},
}

// IsFeedback reports an attribute of an annotation or an evaluation.
func IsFeedback(key string) bool {
	for _, f := range feedback {
		if len(key) > len(f.prefix) && strings.HasPrefix(key, f.prefix) {
			return key[len(f.prefix)] >= '0' && key[len(f.prefix)] <= '9'
		}
	}
	return false
}

// Feedback reads the annotations and evaluations of an item. An annotation without a result is none.
func Feedback(m pcommon.Map) (list []tape.Verdict) {
	a := decode.Attributes(m)
	for _, f := range feedback {
		for _, one := range a.Unflatten(f.prefix).Members() {
			said := one.Value.Get(f.member)
			v := tape.Verdict{
				Of: f.of, Name: said.Get("name").Str(), Value: said.Get("score"), Label: said.Get("label").Str(), Explanation: said.Get("explanation").Str(),
				Judge: said.Get("annotator_kind").Str(), ID: said.Get("identifier").Str(),
			}
			if v.Value.IsAbsent() && v.Label == "" && v.Explanation == "" {
				continue
			}
			if v.Metadata = said.Get("metadata"); v.Metadata.Kind() == exactjson.String {
				if read, ok := decode.Structure(v.Metadata); ok {
					v.Metadata = read
				}
			}
			list = append(list, v)
		}
	}
	return list
}

// PutFeedback writes a verdict as the evaluation that Feedback reads. A verdict without a result says why in
// its metadata.
func PutFeedback(v tape.Verdict, m pcommon.Map) {
	prefix := ""
	for _, f := range feedback {
		if f.of == v.Of && f.member == "evaluation" {
			prefix = f.prefix + "0.evaluation."
		}
	}
	put := func(member, text string) {
		if text != "" {
			m.PutStr(prefix+member, text)
		}
	}
	put("name", v.Name)
	put("label", v.Label)
	put("explanation", v.Explanation)
	put("annotator_kind", v.Judge)
	put("identifier", v.ID)
	if v.Metadata.Kind() == exactjson.String {
		put("metadata", v.Metadata.Str())
	} else if !v.Metadata.IsAbsent() {
		put("metadata", v.Metadata.JSON())
	}
	if v.Value.IsAbsent() {
		return
	}
	whole, wholeErr := strconv.ParseInt(v.Value.JSON(), 10, 64)
	number, err := strconv.ParseFloat(v.Value.JSON(), 64)
	switch {
	case wholeErr == nil:
		m.PutInt(prefix+"score", whole)
	case err == nil:
		m.PutDouble(prefix+"score", number)
	default:
		put("score", v.ValueText())
	}
}
