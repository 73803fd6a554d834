// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// Beside is what a program asks of a server of models beside model calls: which models there are, how many
// tokens a text has, vectors. It counts neither as a model call nor as a miss.
type Beside struct {
	Request string        `json:"request"` // method and path
	Outcome BesideOutcome `json:"outcome"`
	MadeUp  []string      `json:"made_up,omitempty"` // what of the answers the tape does not hold
	Count   int           `json:"count"`
}

// BesideOutcome says where the answer came from.
type BesideOutcome string

// The outcomes of requests beside model calls.
const (
	FromTape  BesideOutcome = "recorded" // the tape holds all that was asked for
	MadeUp    BesideOutcome = "made_up"  // something of the answer is on no tape
	NotServed BesideOutcome = "refused"  // there is no such thing here: status 404, or 400 for a request that cannot be read
)

// Bounds of a report: different requests, and bytes of the path of one.
const (
	maxBeside     = 256
	maxBesidePath = 256
)

// beside answers a request beside model calls: a status and a body.
type beside func(h *Handler, q *besideRequest) (status int, body any)

// besideRequest is such a request.
type besideRequest struct {
	http    *http.Request
	path    string
	model   string // as the path or the body names it
	body    exactjson.Value
	madeUp  []string
	refused bool
	missed  string // why it counts as a miss all the same
}

func (q *besideRequest) makeUp(what string) {
	if !slices.Contains(q.madeUp, what) {
		q.madeUp = append(q.madeUp, what)
	}
}

// refuse is the answer to what cannot be answered.
func (q *besideRequest) refuse(status int, why string) (int, any) {
	q.refused = true
	return status, openAIFailure(status, "not_served", "tapedeck: "+why)
}

// answerBeside answers, and notes that it did.
func (h *Handler) answerBeside(w http.ResponseWriter, req *http.Request, s *Session, name string, rt *route, path string) {
	q := &besideRequest{http: req, path: path, model: rt.model}
	status, answer := http.StatusOK, any(nil)
	if req.Method == http.MethodPost {
		text, err := io.ReadAll(http.MaxBytesReader(w, req.Body, h.config.MaxBody))
		if err == nil {
			q.body, err = readBody(text)
		}
		if err != nil {
			status, answer = q.refuse(statusOf(err), err.Error())
		}
		q.model = cmp.Or(q.model, q.body.Get("model").Str())
	}
	if answer == nil {
		status, answer = rt.beside(h, q)
	}
	if q.missed != "" {
		h.refuse(w, s, name, openAIChat, Request{API: req.Method + " " + cutPath(path)}, q.missed)
		return
	}
	outcome := FromTape
	switch {
	case q.refused:
		outcome = NotServed
	case len(q.madeUp) > 0:
		outcome = MadeUp
		slices.Sort(q.madeUp)
		w.Header().Set(headerMadeUp, strings.Join(q.madeUp, ", "))
	}
	w.Header().Set(headerOutcome, string(outcome))
	s.noteBeside(Beside{Request: req.Method + " " + cutPath(path), Outcome: outcome, MadeUp: q.madeUp})
	send(w, status, answer)
}

func cutPath(path string) string {
	if len(path) > maxBesidePath {
		return strings.ToValidUTF8(path[:maxBesidePath], "") + "…"
	}
	return path
}

// noteBeside counts a request. Beyond the bound all that are new count as one.
func (s *Session) noteBeside(b Beside) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := func(x *Beside) bool {
		return x.Request == b.Request && x.Outcome == b.Outcome && slices.Equal(x.MadeUp, b.MadeUp)
	}
	at := slices.IndexFunc(s.beside, same)
	if at < 0 && len(s.beside) >= maxBeside-1 {
		b = Beside{Request: "others", Outcome: b.Outcome, MadeUp: b.MadeUp}
		if at = slices.IndexFunc(s.beside, func(x *Beside) bool { return x.Request == b.Request }); at >= 0 && !same(s.beside[at]) {
			s.beside[at].Outcome, s.beside[at].MadeUp = MadeUp, nil
		}
	}
	if at < 0 {
		at = len(s.beside)
		s.beside = append(s.beside, &b)
	}
	s.beside[at].Count++
}

// ofAnalytics are parts of paths to which programs send what they count of themselves. No answer of theirs
// reaches a conversation.
var ofAnalytics = []string{"analytics", "telemetry", "event_logging", "events", "metrics", "metrics_enabled", "track", "statsig"}

// besideOf is what answers a POST that is no model call; nil for what may be one.
func besideOf(path string) beside {
	for _, known := range []struct {
		end string
		beside
	}{
		{"/messages/count_tokens", countTokens}, {"/responses/input_tokens", countTokens}, {"/api/embed", embedOllama}, {"/api/embeddings", embedOllama},
		{"/embeddings", embedOpenAI}, {"/v2/embed", embedCohere}, {"/v1/embed", embedCohere}, {"/rerank", rerank}, {"/api/show", showModel}, {"/api/pull", pulled},
	} {
		if strings.HasSuffix(path, known.end) {
			return known.beside
		}
	}
	if strings.Contains(path, "/vector_stores/") && strings.HasSuffix(path, "/search") {
		return searchStore
	}
	for part := range strings.SplitSeq(path, "/") {
		if slices.Contains(ofAnalytics, part) {
			return nothingHere
		}
	}
	return nil
}

// lookupOf is what answers a request that is no POST. None of them is a model call.
func lookupOf(req *http.Request, path string) beside {
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return nothingHere
	}
	switch {
	case path == "" || path == "/":
		return func(*Handler, *besideRequest) (int, any) { return http.StatusOK, object{"tapedeck": "model stub"} }
	case strings.HasSuffix(path, "/models"), strings.HasSuffix(path, "/models/"):
		return listModels
	case strings.Contains(path, "/models/"):
		return oneModel
	case strings.HasSuffix(path, "/api/tags"), strings.HasSuffix(path, "/api/ps"):
		return tags
	case strings.HasSuffix(path, "/api/version"):
		return func(_ *Handler, q *besideRequest) (int, any) {
			q.makeUp("version")
			return http.StatusOK, object{"version": "0.30.0"}
		}
	case strings.HasSuffix(path, "/foundation-models"), strings.HasSuffix(path, "/inference-profiles"):
		return bedrockModels
	}
	return nothingHere
}

func nothingHere(_ *Handler, q *besideRequest) (int, any) {
	return q.refuse(http.StatusNotFound, "there is nothing at "+q.http.Method+" "+cutPath(q.path))
}

// recordedModels are the names of models on the tape, in their order, and when the first call began.
func (s *Stub) recordedModels() (names []string, since time.Time) {
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range s.turns {
		if since.IsZero() {
			since = n.event.StartedAt
		}
		add(n.event.Model)
		if n.event.Response != nil {
			add(n.event.Response.Model)
		}
	}
	return names, since
}

// modelShape is how a provider describes a model, and lists several.
type modelShape struct {
	one  func(name string, since time.Time) object
	list func(all []object) object
}

func shapeOf(q *besideRequest) modelShape {
	header := q.http.Header
	switch {
	case strings.Contains(q.path, "/v1beta") && !strings.Contains(q.path, "/openai/"), strings.Contains(q.path, "/publishers/"):
		return modelShape{geminiModel, func(all []object) object { return object{"models": all, "publisherModels": all} }}
	case header.Get("Anthropic-Version") != "":
		return modelShape{anthropicModel, func(all []object) object {
			o := object{"data": all, "has_more": false, "first_id": nil, "last_id": nil}
			if len(all) > 0 {
				o["first_id"], o["last_id"] = all[0]["id"], all[len(all)-1]["id"]
			}
			return o
		}}
	case header.Get("X-Fern-Sdk-Name") == "cohere":
		return modelShape{cohereModel, func(all []object) object { return object{"models": all} }}
	}
	return modelShape{openAIModel, func(all []object) object { return object{"object": "list", "data": all} }}
}

// What follows is as large as any model, so that no program holds itself back.
const (
	contextTokens = 1 << 20
	outputTokens  = 1 << 16
)

func openAIModel(name string, since time.Time) object {
	return object{
		"id": name, "object": "model", "created": since.Unix(), "owned_by": "tapedeck",
		// Mistral and OpenRouter
		"capabilities": object{"completion_chat": true, "function_calling": true, "completion_fim": false, "fine_tuning": false, "vision": true},
		"name":         name, "context_length": contextTokens, "max_context_length": contextTokens, "supported_parameters": []string{"tools", "tool_choice", "max_tokens", "temperature"},
		"architecture": object{"input_modalities": []string{"text", "image"}, "output_modalities": []string{"text"}, "modality": "text+image->text", "tokenizer": "Other"},
		"pricing":      object{"prompt": "0", "completion": "0"}, "top_provider": object{"context_length": contextTokens, "max_completion_tokens": outputTokens, "is_moderated": false},
	}
}

func anthropicModel(name string, since time.Time) object {
	return object{"type": "model", "id": name, "display_name": name, "created_at": since.UTC().Format(time.RFC3339), "max_input_tokens": contextTokens, "max_tokens": outputTokens}
}

func geminiModel(name string, _ time.Time) object {
	return object{
		"name": "models/" + name, "baseModelId": name, "version": "001", "displayName": name, "inputTokenLimit": contextTokens, "outputTokenLimit": outputTokens,
		"supportedGenerationMethods": []string{"generateContent", "countTokens"},
	}
}

func cohereModel(name string, _ time.Time) object {
	return object{"name": name, "endpoints": []string{"chat"}, "finetuned": false, "context_length": contextTokens}
}

func listModels(h *Handler, q *besideRequest) (int, any) {
	names, since := h.config.Stub.recordedModels()
	shape, all := shapeOf(q), []object{}
	for _, name := range names {
		all = append(all, shape.one(name, since))
	}
	q.makeUp("models")
	return http.StatusOK, shape.list(all)
}

func oneModel(h *Handler, q *besideRequest) (int, any) {
	_, name, _ := strings.Cut(q.path, "/models/")
	_, since := h.config.Stub.recordedModels()
	if known, ok := h.knownModel(name); ok {
		q.makeUp("models")
		return http.StatusOK, shapeOf(q).one(known, since)
	}
	return h.noModel(q, name)
}

// knownModel is the recorded model that a name means, in the words of who asks: also without the provider
// before it and the tag behind it.
func (h *Handler) knownModel(name string) (string, bool) {
	short := func(s string) string { return strings.TrimSuffix(s[strings.LastIndex(s, "/")+1:], ":latest") }
	names, _ := h.config.Stub.recordedModels()
	if slices.Contains(names, name) || len(names) == 0 { // a tape can lack them all
		return name, true
	}
	for _, known := range names {
		if short(known) == short(name) {
			return name, true // as it was asked for
		}
	}
	return "", false
}

func (h *Handler) noModel(q *besideRequest, name string) (int, any) {
	names, _ := h.config.Stub.recordedModels()
	return q.refuse(http.StatusNotFound, fmt.Sprintf("the tape has no model %q; it has %s", cutPath(name), strings.Join(names, ", ")))
}

func ollamaDetails() object {
	return object{"parent_model": "", "format": "gguf", "family": "tapedeck", "families": []string{"tapedeck"}, "parameter_size": "0B", "quantization_level": "F16"}
}

func tags(h *Handler, q *besideRequest) (int, any) {
	names, since := h.config.Stub.recordedModels()
	all := []object{}
	for _, name := range names {
		at := since.UTC().Format(time.RFC3339)
		all = append(all, object{"name": name, "model": name, "modified_at": at, "expires_at": at, "size": 0, "size_vram": 0, "digest": strings.Repeat("0", 64), "details": ollamaDetails()})
	}
	q.makeUp("models")
	return http.StatusOK, object{"models": all}
}

func showModel(h *Handler, q *besideRequest) (int, any) {
	name := q.body.First("model", "name").Str()
	if _, ok := h.knownModel(name); !ok {
		return h.noModel(q, name)
	}
	q.makeUp("models")
	_, since := h.config.Stub.recordedModels()
	return http.StatusOK, object{
		"modelfile": "", "parameters": "", "template": "{{ .Prompt }}", "license": "", "details": ollamaDetails(), "modified_at": since.UTC().Format(time.RFC3339),
		"model_info":   object{"general.architecture": "tapedeck", "general.parameter_count": 0, "tapedeck.context_length": contextTokens},
		"capabilities": []string{"completion", "tools", "thinking", "vision"},
	}
}

// pulled says that a model is there. A model of vectors is on no tape, so any name will do.
func pulled(_ *Handler, q *besideRequest) (int, any) {
	q.makeUp("models")
	return http.StatusOK, object{"status": "success"}
}

func bedrockModels(h *Handler, q *besideRequest) (int, any) {
	names, _ := h.config.Stub.recordedModels()
	models, profiles := []object{}, []object{}
	for _, name := range names {
		const arn = "arn:aws:bedrock:us-east-1::"
		models = append(models, object{
			"modelArn": arn + "foundation-model/" + name, "modelId": name, "modelName": name, "providerName": "tapedeck", "inputModalities": []string{"TEXT"},
			"outputModalities": []string{"TEXT"}, "responseStreamingSupported": true, "inferenceTypesSupported": []string{"ON_DEMAND"}, "modelLifecycle": object{"status": "ACTIVE"},
		})
		profiles = append(profiles, object{
			"inferenceProfileArn": arn + "inference-profile/" + name, "inferenceProfileId": name, "inferenceProfileName": name, "status": "ACTIVE", "type": "SYSTEM_DEFINED",
			"models": []object{{"modelArn": arn + "foundation-model/" + name}},
		})
	}
	q.makeUp("models")
	return http.StatusOK, object{"modelSummaries": models, "inferenceProfileSummaries": profiles}
}

// bytesPerToken makes a number of tokens of a text, roughly.
const bytesPerToken = 4

func roughTokens(text string) int { return (len(text) + bytesPerToken - 1) / bytesPerToken }

// countTokens counts the tokens of a request: as the recorded call with the same conversation did, else by
// its length.
func countTokens(h *Handler, q *besideRequest) (int, any) {
	p, body := openAIResponses, q.body
	answer := func(n int64) object { return object{"object": "response.input_tokens", "input_tokens": n} }
	switch {
	case strings.HasSuffix(q.path, ":countTokens"):
		p, answer = geminiGenerate, func(n int64) object { return object{"totalTokens": n} }
		if inner := body.Get("generateContentRequest"); inner.Kind() == exactjson.Object {
			body = inner
		}
	case strings.HasSuffix(q.path, "/count-tokens"):
		p, answer = bedrockConverse, func(n int64) object { return object{"inputTokens": n} }
		body = body.Get("input").Get("converse")
	case !strings.HasSuffix(q.path, "/input_tokens"):
		p, answer = anthropicMessages, func(n int64) object { return object{"input_tokens": n} }
	}
	if body.Kind() == exactjson.Object {
		_, live := requestOf(p, q.model, false, body)
		for i, found := range h.config.Stub.agreements(&live) {
			e := h.config.Stub.turns[i].event
			if found.agrees && e.Usage != nil && e.Usage.InputTokens != nil {
				r := reply{Answer: Answer{turn: h.config.Stub.turns[i]}}
				return http.StatusOK, answer(r.usage(true).in)
			}
		}
	}
	q.makeUp("token count")
	return http.StatusOK, answer(int64(roughTokens(string(q.body.AppendJSON(nil)))))
}

// documentText is the text of a recorded document, in any framework's shape; score is how well it fitted,
// where that is recorded.
func documentText(v exactjson.Value) (text string, score exactjson.Value) {
	for range 3 {
		if v.Kind() == exactjson.String {
			return strings.TrimSpace(v.Str()), score
		}
		if s := v.First("score", "relevance_score", "similarity"); s.Kind() == exactjson.Number {
			score = s
		}
		v = v.First("page_content", "pageContent", "content", "text", "document", "node")
	}
	return "", score
}

// retrieval is what a retriever found.
type retrieval struct {
	query  string
	texts  []string
	scores []exactjson.Value
}

// Bounds of the retrievals of a tape that answers are made of, and of documents of one.
const (
	maxRetrievals = 1024
	maxDocuments  = 256
)

func (s *Stub) retrievals() (all []retrieval) {
	var events []*tape.Event
	for _, t := range s.tapes {
		for i := range t.Events {
			if e := &t.Events[i]; e.Type == tape.EventRetrieval && len(events) < maxRetrievals {
				events = append(events, e)
			}
		}
	}
	for _, e := range events {
		r := retrieval{query: queryText(e.Query)}
		for _, d := range e.Documents.Members() {
			if text, score := documentText(d.Value); text != "" && !slices.Contains(r.texts, text) && len(r.texts) < maxDocuments {
				r.texts, r.scores = append(r.texts, text), append(r.scores, score)
			}
		}
		if r.query != "" && len(r.texts) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func queryText(v exactjson.Value) string {
	if v.Kind() == exactjson.Object {
		v = v.First("query", "input", "question", "text", "query_str")
	}
	return strings.TrimSpace(v.Str())
}
