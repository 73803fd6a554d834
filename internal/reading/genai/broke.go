// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"slices"
	"strings"

	"github.com/tapedeck/tapedeck/internal/reading/genai/decode"
	"github.com/tapedeck/tapedeck/internal/reading/genai/dialect"
)

// instrumentations are folders of Python packages that record calls and make none.
var instrumentations = []string{"/openlit/instrumentation/", "/opentelemetry/instrumentation/", "/openinference/instrumentation/"}

// brokeItself reports a span whose exceptions were all raised in the code of an instrumentation, as the last
// frame of each stack says. What a call raises is raised in its client, or below that. The call may have been
// answered.
func brokeItself(s *dialect.Source) bool {
	broke := false
	for _, e := range s.Span.Events().All() {
		if e.Name() != "exception" {
			continue
		}
		file := lastFrame(decode.Attributes(e.Attributes()).Text("exception.stacktrace"))
		if !slices.ContainsFunc(instrumentations, func(folder string) bool { return strings.Contains(file, folder) }) {
			return false
		}
		broke = true
	}
	return broke
}

// lastFrame returns the file of the last frame of a stack of Python. Frames of Pydantic do not count: it
// raises what its caller asks for in vain.
func lastFrame(stack string) string {
	for at := strings.LastIndex(stack, "\n  File \""); at >= 0; at = strings.LastIndex(stack[:at], "\n  File \"") {
		file, _, _ := strings.Cut(stack[at+len("\n  File \""):], `"`)
		file = strings.ReplaceAll(file, `\`, "/")
		if !strings.HasSuffix(file, "/pydantic/main.py") {
			return file
		}
	}
	return ""
}
