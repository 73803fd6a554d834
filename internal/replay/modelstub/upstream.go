// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Upstream is a real endpoint of models, for the calls of a replay that are not answered from the tape. Its
// keys never reach the agent, and of the agent's requests only the body reaches it: where they go is made
// anew.
type Upstream struct {
	// URL is what stands before the paths of the protocols, such as https://api.openai.com.
	URL *url.URL
	// Model is asked in place of the one that the agent asks for; "" changes nothing.
	Model string
	// SystemPrompt stands in place of that of the agent; nil changes nothing.
	SystemPrompt *string
	// Key returns the key of the endpoint for a call in a protocol, "" for none.
	Key func(api string) string
	// Transport sends the requests.
	Transport http.RoundTripper
}

// passed are the headers of requests that mean something to providers.
var passed = []string{"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"}

// live sends a request on, and its answer back as it comes.
func (h *Handler) live(w http.ResponseWriter, req *http.Request, s *Session, p *protocol, r *reply) {
	w.Header().Set(headerOutcome, string(Live))
	why := ""
	defer func() {
		if why != "" {
			s.mu.Lock()
			s.calls[r.Call-1].Reason = why
			s.mu.Unlock()
		}
	}()
	refuse := func(status int, text string) {
		why = text
		send(w, status, p.failure(status, string(Live), "tapedeck: "+text))
	}
	up := h.config.Upstream
	if up == nil {
		refuse(http.StatusUnprocessableEntity, "the call lies behind the fork, and no model is named")
		return
	}
	if p.upstream == "" {
		refuse(http.StatusNotImplemented, "calls in the protocol "+p.name+" are not sent on to a model")
		return
	}
	if s.ours(r.request.Previous) {
		refuse(http.StatusNotImplemented, "previous_response_id names an answer from the tape, which a real model does not know")
		return
	}
	target := up.target(p, r.request.Model, r.request.Stream, req.URL.Query().Get("alt") == "sse")
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, target.String(), bytes.NewReader(up.rewrite(p, r.body)))
	if err != nil {
		refuse(http.StatusBadGateway, err.Error())
		return
	}
	for _, name := range passed {
		if v := req.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	key := up.Key(p.name)
	if key != "" {
		switch p {
		case anthropicMessages:
			out.Header.Set("X-Api-Key", key)
		case geminiGenerate:
			out.Header.Set("X-Goog-Api-Key", key)
		default:
			out.Header.Set("Authorization", "Bearer "+key)
		}
	}
	resp, err := up.Transport.RoundTrip(out)
	if err != nil {
		refuse(http.StatusBadGateway, "the model cannot be asked: "+err.Error())
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		if why = resp.Status; key == "" && (resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden) {
			why += ", and no key was sent: --model-key-env names the variable with the key of this endpoint"
		}
	}
	for _, name := range []string{"Content-Type", "Retry-After", "X-Should-Retry", "Request-Id", "X-Request-Id"} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(flushing{w}, resp.Body); err != nil {
		why = "the answer broke off: " + err.Error()
	}
}

// flushing sends each piece when it comes.
type flushing struct{ w http.ResponseWriter }

func (f flushing) Write(b []byte) (int, error) {
	n, err := f.w.Write(b)
	if err == nil {
		err = http.NewResponseController(f.w).Flush()
	}
	return n, err
}

// ours reports whether an id is that of an answer of the session.
func (s *Session) ours(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.previous[id]
	return known
}

// target is where a call in a protocol goes. sse says how a stream of Gemini is framed.
func (up *Upstream) target(p *protocol, model string, stream, sse bool) *url.URL {
	path, query := p.upstream, ""
	if p == geminiGenerate {
		name := url.PathEscape(model)
		if up.Model != "" {
			name = strings.ReplaceAll(url.PathEscape(up.Model), "%2F", "/") // that of the operator can be a path
		}
		if path = "/v1beta/models/" + name + ":generateContent"; stream {
			path = "/v1beta/models/" + name + ":streamGenerateContent"
		}
		if sse {
			query = "alt=sse"
		}
	}
	target := *up.URL
	target.RawPath = strings.TrimRight(up.URL.EscapedPath(), "/") + path
	target.Path, _ = url.PathUnescape(target.RawPath) // both halves are escaped well
	target.RawQuery, target.ForceQuery, target.Fragment = query, false, ""
	return &target
}

// KeyVariables are the variables that can hold the key of an endpoint, for a call in a protocol. Who serves a
// known host is sent its own key, and no other host is sent it. Any other endpoint is taken for one that
// serves the protocols of OpenAI, as gateways and local servers do.
func KeyVariables(endpoint *url.URL, api string) []string {
	host := strings.ToLower(endpoint.Hostname())
	switch {
	case host == "api.anthropic.com":
		return []string{"ANTHROPIC_API_KEY"}
	case host == "generativelanguage.googleapis.com":
		return []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}
	case strings.HasSuffix(host, ".openai.azure.com"):
		return []string{"AZURE_OPENAI_API_KEY"}
	case host == "api.mistral.ai":
		return []string{"MISTRAL_API_KEY"}
	case host == "openrouter.ai":
		return []string{"OPENROUTER_API_KEY"}
	case host == "api.cohere.com":
		return []string{"CO_API_KEY"}
	case host == "api.openai.com", api == openAIChat.name, api == openAIResponses.name:
		return []string{"OPENAI_API_KEY"}
	}
	return nil
}

// rewrite puts the model and the system prompt of the upstream into a request. Everything else stays as the agent wrote it.
func (up *Upstream) rewrite(p *protocol, body exactjson.Value) []byte {
	members := map[string]exactjson.Value{}
	if up.Model != "" && p != geminiGenerate { // which has it in the path
		members["model"] = exactjson.StringValue(up.Model)
	}
	if up.SystemPrompt != nil {
		text := exactjson.StringValue(*up.SystemPrompt)
		switch p {
		case anthropicMessages, ollamaGenerate:
			members["system"] = text
		case openAIResponses:
			members["instructions"] = text
			members["input"] = withoutSystem(body.Get("input"))
		case geminiGenerate:
			members["systemInstruction"] = exactjson.ObjectValue(exactjson.Member{Name: "parts", Value: exactjson.ArrayValue(exactjson.ObjectValue(exactjson.Member{Name: "text", Value: text}))})
			members["system_instruction"] = exactjson.Value{}
		default:
			own := exactjson.ObjectValue(exactjson.Member{Name: "role", Value: exactjson.StringValue("system")}, exactjson.Member{Name: "content", Value: text})
			list := []exactjson.Value{own}
			for _, m := range withoutSystem(body.Get("messages")).Members() {
				list = append(list, m.Value)
			}
			members["messages"] = exactjson.ArrayValue(list...)
		}
	}
	var out []exactjson.Member
	for _, m := range body.Members() {
		if v, changed := members[m.Name]; changed {
			m.Value = v
			delete(members, m.Name)
		}
		if !m.Value.IsAbsent() {
			out = append(out, m)
		}
	}
	for _, name := range []string{"model", "system", "instructions", "systemInstruction", "messages"} {
		if v, missing := members[name]; missing && !v.IsAbsent() {
			out = append(out, exactjson.Member{Name: name, Value: v})
		}
	}
	return exactjson.ObjectValue(out...).AppendJSON(nil)
}

// withoutSystem leaves the instructions out of a list of messages. A text is no such list.
func withoutSystem(list exactjson.Value) exactjson.Value {
	if list.Kind() != exactjson.Array {
		return list
	}
	kept := []exactjson.Value{}
	for _, m := range list.Members() {
		if role := m.Value.Get("role").Str(); role != "system" && role != "developer" {
			kept = append(kept, m.Value)
		}
	}
	return exactjson.ArrayValue(kept...)
}
