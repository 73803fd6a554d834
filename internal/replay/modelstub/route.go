// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"net/http"
	"strings"
)

// route is what a request asks for, as its method, path and headers tell.
type route struct {
	p      *protocol // a model call; nil: none
	beside beside    // anything else that has an answer; nil: none
	model  string    // as the path names it
	stream bool      // the path says that the answer is streamed
	path   bool      // path and nothing else names the model and says whether the answer is streamed
}

// routes are ends of paths. What stands before them, such as the path of a gateway, does not matter.
var routes = []struct {
	end string
	p   *protocol
}{
	{"/chat/completions", openAIChat}, {"/responses", openAIResponses}, {"/messages", anthropicMessages}, {"/api/chat", ollamaChat}, {"/api/generate", ollamaGenerate},
	{"/v2/chat", cohereChat},
}

// actions are ends of the paths of Google, behind the name of a model.
var actions = []struct {
	end, publisher string // "": any
	p              *protocol
	beside         beside
	stream         bool
}{
	{":generateContent", "", geminiGenerate, nil, false}, {":streamGenerateContent", "", geminiGenerate, nil, true},
	{":rawPredict", "anthropic", anthropicVertex, nil, false}, {":streamRawPredict", "anthropic", anthropicVertex, nil, true},
	{":rawPredict", "mistralai", mistralChat, nil, false}, {":streamRawPredict", "mistralai", mistralChat, nil, true},
	{":countTokens", "", nil, countTokens, false}, {":embedContent", "", nil, embedGemini, false}, {":batchEmbedContents", "", nil, embedGeminiBatch, false},
	{":predict", "google", nil, embedVertex, false},
}

// bedrockActions are ends of the paths of Bedrock, behind the id of a model. An id can be an ARN, with
// slashes.
var bedrockActions = []struct {
	end    string
	p      *protocol
	beside beside
	stream bool
}{
	{"/converse", bedrockConverse, nil, false}, {"/converse-stream", bedrockConverse, nil, true}, {"/invoke", anthropicBedrock, nil, false},
	{"/invoke-with-response-stream", anthropicBedrock, nil, true}, {"/count-tokens", nil, countTokens, false},
}

// routeOf says what a request asks for. path is that of the request without the name of a session.
func routeOf(req *http.Request, path string) route {
	if req.Method != http.MethodPost {
		return route{beside: lookupOf(req, path)}
	}
	if at := strings.LastIndex(path, "/model/"); at >= 0 {
		for _, a := range bedrockActions {
			if model, ok := strings.CutSuffix(path[at+len("/model/"):], a.end); ok && model != "" {
				return bedrockRoute(route{p: a.p, beside: a.beside, model: model, stream: a.stream, path: true})
			}
		}
	}
	last := path[strings.LastIndex(path, "/")+1:]
	if strings.HasSuffix(path, "/anthropic/models/count-tokens:rawPredict") {
		return route{beside: countTokens}
	}
	for _, a := range actions {
		if model, ok := strings.CutSuffix(last, a.end); ok && (a.publisher == "" || strings.Contains(path, "/publishers/"+a.publisher+"/")) {
			return route{p: a.p, beside: a.beside, model: model, stream: a.stream, path: true}
		}
	}
	for _, r := range routes {
		if strings.HasSuffix(path, r.end) {
			return route{p: flavour(r.p, req, path), model: deploymentOf(path)}
		}
	}
	return route{beside: besideOf(path), model: deploymentOf(path)}
}

// flavour is the protocol of a provider that serves chat completions in a way of its own. Its SDK names
// itself, or the base URL does.
func flavour(p *protocol, req *http.Request, path string) *protocol {
	switch {
	case p != openAIChat:
		return p
	case strings.HasPrefix(path, "/mistral/") || strings.Contains(strings.ToLower(req.UserAgent()), "mistral"):
		return mistralChat
	case strings.HasSuffix(path, "/api/v1/chat/completions"):
		return openRouterChat
	}
	return p
}

// deploymentOf is the deployment of Azure OpenAI that a path names, which stands for the model where the body
// names none.
func deploymentOf(path string) string {
	_, rest, ok := strings.Cut(path, "/openai/deployments/")
	if !ok {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}

const endpoints = "/v1/chat/completions, /v1/responses, /v1/messages, models/MODEL:generateContent, models/MODEL:streamGenerateContent, " +
	"model/MODEL/converse, model/MODEL/converse-stream, model/MODEL/invoke, models/MODEL:rawPredict, /api/chat, /api/generate, /v2/chat, " +
	"embeddings, embed, rerank and vector_stores/ID/search"
