// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genaitest

import (
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Parse reads JSON, or fails the test.
func Parse(t testing.TB, text string) exactjson.Value {
	t.Helper()
	v, err := exactjson.Parse(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// Messages writes messages as lines: role, name and parts.
func Messages(messages []decode.Message) []string {
	out := []string{}
	for _, m := range messages {
		line := string(m.Role)
		if m.Name != "" {
			line += "(" + m.Name + ")"
		}
		line += ":"
		for _, p := range m.Parts {
			line += " " + Part(p)
		}
		if m.FinishReason != "" {
			line += " -> " + m.FinishReason
		}
		out = append(out, line)
	}
	return out
}

// Part writes a part with its label and envelopes.
func Part(p decode.Part) string {
	s := ""
	switch p.Type {
	case tape.PartText, tape.PartReasoning:
		s = fmt.Sprintf("%s(%s)", p.Type, p.Text)
		if p.Refusal {
			s = "refusal" + strings.TrimPrefix(s, "text")
		}
	case tape.PartToolCall:
		s = fmt.Sprintf("call(%s)", strings.Join([]string{p.ID, p.Name, p.Args.JSON()}, " "))
	case tape.PartToolResult:
		s = fmt.Sprintf("result(%s)", strings.Join([]string{p.ID, p.Name, p.Result.JSON()}, " "))
		if p.IsError {
			s += "!"
		}
		if len(p.Envelope) > 0 {
			s += "[" + strings.Join(p.Envelope, ",") + "]"
		}
	case tape.PartMedia:
		s = fmt.Sprintf("media(%s %s %.8s %d)", p.MIMEType, p.URI, p.SHA256, p.Size)
	case tape.PartData:
		s = "data(" + p.Value.JSON() + ")"
	default:
		s = string(p.Type)
	}
	if p.Label != "" {
		s += "~" + string(p.Label)
	}
	return s
}

// Flat is a map of the given keys and values, in their order.
func Flat(keysAndValues ...string) decode.Attributes {
	m := pcommon.NewMap()
	for i := 0; i < len(keysAndValues); i += 2 {
		m.PutStr(keysAndValues[i], keysAndValues[i+1])
	}
	return decode.Attributes(m)
}

// Text makes a JSON string.
func Text(text string) exactjson.Value { return exactjson.StringValue(text) }
