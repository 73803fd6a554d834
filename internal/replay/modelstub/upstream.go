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

// Upstream is a real endpoint of models, for the calls of a replay that are not answered from the tape. Its keys never reach the agent.
type Upstream struct {
	// URL is what stands before the paths of the protocol, such as https://api.openai.com.
	URL *url.URL
	// Model is asked in place of the one that the agent asks for; "" changes nothing.
	Model string
	// SystemPrompt stands in place of that of the agent; nil changes nothing.
	SystemPrompt *string
	// Key returns the key for a protocol, "" for none.
	Key func(api string) string
	// Transport sends the requests.
	Transport http.RoundTripper
}

// passed are the headers of requests that mean something to providers.
var passed = []string{"Accept", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta", "Openai-Beta"}

// live sends a request on, and its answer back as it comes.
func (h *Handler) live(w http.ResponseWriter, req *http.Request, s *Session, p *protocol, r *reply, path string) {
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
	if s.ours(r.request.Previous) {
		refuse(http.StatusNotImplemented, "previous_response_id names an answer from the tape, which a real model does not know")
		return
	}
	body, path := up.rewrite(p, r.body, path)
	target := *up.URL
	target.Path = strings.TrimSuffix(target.Path, "/") + path
	query := req.URL.Query()
	query.Del("key")
	target.RawQuery = query.Encode()
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, target.String(), bytes.NewReader(body))
	if err != nil {
		refuse(http.StatusBadGateway, err.Error())
		return
	}
	for _, name := range passed {
		if v := req.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}
	if key := up.Key(p.name); key != "" {
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
		why = resp.Status
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

// rewrite puts the model and the system prompt of the upstream into a request. Everything else stays as the agent wrote it.
func (up *Upstream) rewrite(p *protocol, body exactjson.Value, path string) ([]byte, string) {
	members := map[string]exactjson.Value{}
	if up.Model != "" && p == geminiGenerate {
		at, method := strings.LastIndex(path, "/")+1, strings.LastIndex(path, ":")
		path = path[:at] + up.Model + path[method:]
	} else if up.Model != "" {
		members["model"] = exactjson.StringValue(up.Model)
	}
	if up.SystemPrompt != nil {
		text := exactjson.StringValue(*up.SystemPrompt)
		switch p {
		case anthropicMessages:
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
	return exactjson.ObjectValue(out...).AppendJSON(nil), path
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
