// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

// Disputed are values of the corpus that count as defects and are none, or none that a reader of the telemetry could mend, with the
// reason: group/scenario and field. Each is checked: one that comes out right is no longer disputed.
var Disputed = map[string]string{
	"autogen-native/step_limit final_output": "the run ended with the result of its last tool, which the tape holds there; what the framework makes of it as a text " +
		"is a setting, and no span records the text",
	"claude-agent-sdk-openinference/research_chain tool.result": envelopeOfServer,
	"claude-code/research_chain tool.result":                    envelopeOfServer,
	"gemini-cli/research_chain tool.result":                     envelopeOfServer,
	"mastra-arize/stream_final final_output":                    allTexts,
	"mastra-otel-exporter/stream_final final_output":            allTexts,
	"langsmith-openai/stream_final status":                      "the run answered, and its telemetry ends with the result of a tool, as that of a run that failed after it does",
}

const (
	envelopeOfServer = "the MCP server of the recording answers {\"value\": 26.8…}, and the tape holds that; nothing recorded tells what the function behind it returned. " +
		"Where no request shows it to the model, the tape names the envelope and does not claim that its tools can be served"
	allTexts = "Mastra answers with all texts of a run in one, and the truth of its other runs says so; here it names the last text alone"
)
