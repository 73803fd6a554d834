// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import "strings"

// InstructionsAPI is an API whose requests hold the instructions beside the messages.
type InstructionsAPI int

// The APIs, by the provider that a span names. Other providers take instructions as a message.
const (
	NoInstructionsAPI InstructionsAPI = iota
	ConverseAPI
	MessagesAPI
	OtherAPI
)

// InstructionsBeside says by which API a provider is asked, as gen_ai.provider.name spells it.
func InstructionsBeside(provider string) InstructionsAPI {
	switch {
	case provider == "aws.bedrock":
		return ConverseAPI
	case provider == "anthropic":
		return MessagesAPI
	case provider == "google", provider == "gemini", strings.HasPrefix(provider, "gcp"), strings.HasPrefix(provider, "vertex"), strings.HasSuffix(provider, "bedrock"):
		return OtherAPI
	}
	return NoInstructionsAPI
}

// IsMessageEnvelope reports the envelope of a message that a framework made of what a tool returned, see
// Content.Envelope.
func IsMessageEnvelope(name string) bool {
	return name == "langchain.repr" || name == "langchain.tool_message" || name == "llamaindex.tool_output"
}
