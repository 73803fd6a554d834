// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// No tape holds vectors. A text gets one that is made of its digest: the same each time, and nearly at right
// angles to that of any other text. Where the tape holds retrievals, one number of each vector says whether
// the text is a recorded document, and the query of a recorded retrieval gets a vector to which its documents
// lie nearest, in the recorded order: a program which searches its own vectors finds what it found.

// Bounds of one request for vectors.
const (
	maxVectorTexts  = 4096
	maxVectorLength = 8192
	maxVectorSum    = 4 << 20 // numbers
)

// vectorLengths are the lengths of the vectors of known models, by a part of their names; the first that
// fits.
var vectorLengths = []struct {
	part   string
	length int
}{
	{"text-embedding-3-large", 3072}, {"gemini-embedding", 3072}, {"text-embedding-3-small", 1536}, {"ada-002", 1536}, {"embed-v4", 1536}, {"codestral-embed", 1536},
	{"text-embedding-00", 768}, {"embedding-001", 768}, {"text-multilingual-embedding", 768}, {"nomic-embed", 768}, {"embeddinggemma", 768}, {"minilm", 384}, {"light-v", 384},
}

const defaultVectorLength = 1024

func vectorLength(model string, wanted exactjson.Value) int {
	if n, ok := wanted.Int(); ok && n > 0 {
		return int(min(n, maxVectorLength+1))
	}
	for _, known := range vectorLengths {
		if strings.Contains(strings.ToLower(model), known.part) {
			return known.length
		}
	}
	return defaultVectorLength
}

// space makes vectors.
type space struct {
	once    sync.Once
	queries map[string][]string // texts of the recorded documents, best first
	texts   []string            // of all recorded documents
}

func (s *Stub) vectors() *space {
	s.space.once.Do(func() {
		s.space.queries = map[string][]string{}
		for _, r := range s.retrievals() {
			if _, twice := s.space.queries[r.query]; !twice {
				s.space.queries[r.query] = r.texts
			}
			for _, text := range r.texts {
				if len(s.space.texts) < maxRetrievals && !slices.Contains(s.space.texts, text) {
					s.space.texts = append(s.space.texts, text)
				}
			}
		}
	})
	return &s.space
}

// minContained is how long a recorded document is that is looked for within a text: frameworks put titles and
// metadata before it.
const minContained = 24

// of is the vector of a text. recorded says that recorded documents lie nearest to it.
func (s *space) of(text string, n int) (v []float64, recorded bool) {
	text = strings.TrimSpace(text)
	if found := s.queries[text]; len(found) > 0 && len(found) <= n/2 {
		if v, ok := nearestTo(found, n); ok {
			return v, true
		}
	}
	for _, document := range s.texts {
		if text == document || len(document) >= minContained && strings.Contains(text, document) {
			return random(document, n, lean), false
		}
	}
	if len(s.texts) > 0 {
		return random(text, n, -lean), false
	}
	return random(text, n, 0), false
}

// lean is the number that recorded documents have, and whose opposite all other texts have.
const lean = 0.6

// random is a vector of length 1 that depends on a text alone, but for its first number, if that is not to be
// 0.
func random(text string, n int, first float64) []float64 {
	source := rand.NewChaCha8(sha256.Sum256([]byte(text)))
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(int64(source.Uint64())) / (1 << 63)
	}
	if unit(v); first == 0 || n == 1 {
		return v
	}
	v[0] = 0
	unit(v)
	for i := range v {
		v[i] *= math.Sqrt(1 - first*first)
	}
	v[0] = first
	return v
}

func unit(v []float64) []float64 {
	if length := math.Sqrt(dot(v, v)); length > 0 {
		for i := range v {
			v[i] /= length
		}
	}
	return v
}

func dot(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

// nearestTo is the vector whose products with those of the texts fall from the first to the last: the sum of
// them with the weights that solve the equations of all products. ok is false where they cannot be told
// apart.
func nearestTo(texts []string, n int) (v []float64, ok bool) {
	k := len(texts)
	vectors := make([][]float64, k)
	rows := make([][]float64, k) // products, and behind them what the product is to be
	for i, text := range texts {
		vectors[i] = random(text, n, lean)
	}
	for i := range rows {
		rows[i] = make([]float64, k+1)
		for j := range k {
			rows[i][j] = dot(vectors[i], vectors[j])
		}
		rows[i][k] = 1 - float64(i)/float64(4*k)
	}
	for i := range k { // Gauss
		best := i
		for j := i + 1; j < k; j++ {
			if math.Abs(rows[j][i]) > math.Abs(rows[best][i]) {
				best = j
			}
		}
		if rows[i], rows[best] = rows[best], rows[i]; math.Abs(rows[i][i]) < 1e-6 {
			return nil, false
		}
		for j := range k {
			if factor := rows[j][i] / rows[i][i]; j != i {
				for l := i; l <= k; l++ {
					rows[j][l] -= factor * rows[i][l]
				}
			}
		}
	}
	v = make([]float64, n)
	for i := range k {
		weight := rows[i][k] / rows[i][i]
		for j := range v {
			v[j] += weight * vectors[i][j]
		}
	}
	return unit(v), true
}

// embed makes the vectors of texts, or an answer that refuses.
func embed(h *Handler, q *besideRequest, model string, texts []string, wanted exactjson.Value) (vectors [][]float32, status int, refusal any) {
	n := vectorLength(model, wanted)
	if len(texts) == 0 || len(texts) > maxVectorTexts || n > maxVectorLength || n*len(texts) > maxVectorSum {
		status, refusal = q.refuse(http.StatusBadRequest, fmt.Sprintf("vectors are made for 1 to %d texts, up to %d numbers each and %d in all", maxVectorTexts, maxVectorLength, maxVectorSum))
		return nil, status, refusal
	}
	q.makeUp("vectors")
	s := h.config.Stub.vectors()
	for _, text := range texts {
		v, recorded := s.of(text, n)
		if recorded {
			q.makeUp("vectors: nearest to the recorded documents")
		}
		short := make([]float32, n)
		for i := range v {
			short[i] = float32(v[i])
		}
		vectors = append(vectors, short)
	}
	return vectors, http.StatusOK, nil
}

// textsOf are the texts that a member holds: one, several, or numbers of tokens in place of them, which stay
// as they are written.
func textsOf(v exactjson.Value) (texts []string) {
	if v.Kind() == exactjson.Array && v.At(0).Kind() != exactjson.Number {
		for _, m := range v.Members() {
			texts = append(texts, textOf(m.Value))
		}
		return texts
	}
	if v.IsAbsent() {
		return nil
	}
	return []string{textOf(v)}
}

func textOf(v exactjson.Value) string {
	if v.Kind() == exactjson.String {
		return v.Str()
	}
	if parts := v.First("parts", "content"); parts.Kind() == exactjson.Array { // Gemini, Cohere
		text := ""
		for _, p := range parts.Members() {
			text = joined(text, p.Value.Get("text").Str())
		}
		return text
	}
	if v.Kind() == exactjson.Object {
		if text := v.First("text", "content"); text.Kind() == exactjson.String {
			return text.Str()
		}
	}
	return string(v.AppendJSON(nil))
}

func tokensOf(texts []string) (n int) {
	for _, text := range texts {
		n += roughTokens(text)
	}
	return n
}

func embedOpenAI(h *Handler, q *besideRequest) (int, any) {
	texts := textsOf(q.body.Get("input"))
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.First("dimensions", "output_dimension"))
	if refusal != nil {
		return status, refusal
	}
	list := []object{}
	for i, v := range vectors {
		one := object{"object": "embedding", "index": i, "embedding": v}
		if q.body.Get("encoding_format").Str() == "base64" {
			one["embedding"] = floatBytes(v)
		}
		list = append(list, one)
	}
	return http.StatusOK, object{
		"object": "list", "data": list, "model": q.model, "id": "embd-tapedeck", "usage": object{"prompt_tokens": tokensOf(texts), "total_tokens": tokensOf(texts), "completion_tokens": 0},
	}
}

func floatBytes(v []float32) string {
	var b []byte
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(b)
}

func embedOllama(h *Handler, q *besideRequest) (int, any) {
	old := strings.HasSuffix(q.path, "/api/embeddings")
	texts := textsOf(q.body.First("input", "prompt"))
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.Get("dimensions"))
	switch {
	case refusal != nil:
		return status, refusal
	case old:
		return http.StatusOK, object{"embedding": vectors[0]}
	}
	return http.StatusOK, object{"model": q.model, "embeddings": vectors, "total_duration": 0, "load_duration": 0, "prompt_eval_count": tokensOf(texts)}
}

func embedGemini(h *Handler, q *besideRequest) (int, any) {
	texts := []string{textOf(q.body.Get("content"))}
	wanted := q.body.First("outputDimensionality", "output_dimensionality")
	if wanted.IsAbsent() {
		wanted = q.body.Get("embedContentConfig").Get("outputDimensionality")
	}
	vectors, status, refusal := embed(h, q, q.model, texts, wanted)
	if refusal != nil {
		return status, refusal
	}
	return http.StatusOK, object{"embedding": object{"values": vectors[0]}}
}

func embedGeminiBatch(h *Handler, q *besideRequest) (int, any) {
	var texts []string
	for _, m := range q.body.Get("requests").Members() {
		texts = append(texts, textOf(m.Value.Get("content")))
	}
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.Get("requests").At(0).First("outputDimensionality", "output_dimensionality"))
	if refusal != nil {
		return status, refusal
	}
	list := []object{}
	for _, v := range vectors {
		list = append(list, object{"values": v})
	}
	return http.StatusOK, object{"embeddings": list}
}

func embedVertex(h *Handler, q *besideRequest) (int, any) {
	var texts []string
	for _, m := range q.body.Get("instances").Members() {
		texts = append(texts, textOf(m.Value))
	}
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.Get("parameters").Get("outputDimensionality"))
	if refusal != nil {
		return status, refusal
	}
	list := []object{}
	for i, v := range vectors {
		list = append(list, object{"embeddings": object{"values": v, "statistics": object{"token_count": roughTokens(texts[i]), "truncated": false}}})
	}
	return http.StatusOK, object{"predictions": list}
}

func embedTitan(h *Handler, q *besideRequest) (int, any) {
	texts := textsOf(q.body.Get("inputText"))
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.Get("dimensions"))
	if refusal != nil {
		return status, refusal
	}
	return http.StatusOK, object{"embedding": vectors[0], "embeddingsByType": object{"float": vectors[0]}, "inputTextTokenCount": tokensOf(texts)}
}

func embedCohere(h *Handler, q *besideRequest) (int, any) {
	texts := textsOf(q.body.First("texts", "inputs"))
	vectors, status, refusal := embed(h, q, q.model, texts, q.body.Get("output_dimension"))
	if refusal != nil {
		return status, refusal
	}
	o := object{"id": "tapedeck", "texts": texts, "meta": object{"api_version": object{"version": "2"}, "billed_units": object{"input_tokens": tokensOf(texts)}}}
	types := q.body.Get("embedding_types")
	if types.Len() == 0 && strings.HasSuffix(q.path, "/v1/embed") {
		o["response_type"], o["embeddings"] = "embeddings_floats", vectors
		return http.StatusOK, o
	}
	byType := object{}
	if types.Len() == 0 {
		byType["float"] = vectors
	}
	for _, m := range types.Members() {
		coded := make([]any, len(vectors))
		for i, v := range vectors {
			if coded[i] = coded8(m.Value.Str(), v); coded[i] == nil {
				return q.refuse(http.StatusBadRequest, "there are no vectors of type "+cutPath(m.Value.Str()))
			}
		}
		byType[m.Value.Str()] = coded
	}
	o["response_type"], o["embeddings"] = "embeddings_by_type", byType
	return http.StatusOK, o
}

// coded8 is a vector in one of the forms that Cohere knows, nil for another: as it is, in bytes with or
// without a sign, or a bit a number.
func coded8(form string, v []float32) any {
	switch form {
	case "float":
		return v
	case "base64":
		return floatBytes(v)
	}
	var list []int
	switch form {
	case "int8", "uint8":
		scale := 127 * math.Sqrt(float64(len(v))) / 3
		for _, x := range v {
			n := int(math.Round(max(-127, min(127, float64(x)*scale))))
			if form == "uint8" {
				n += 128
			}
			list = append(list, n)
		}
	case "binary", "ubinary":
		for i := 0; i < len(v); i += 8 {
			n := 0
			for j := range 8 {
				if n <<= 1; i+j < len(v) && v[i+j] > 0 {
					n |= 1
				}
			}
			if form == "binary" {
				n -= 128
			}
			list = append(list, n)
		}
	default:
		return nil
	}
	return list
}

// rerank puts documents into an order: the recorded one, where a retriever or another ranking of the same
// query found them; else as they came.
func rerank(h *Handler, q *besideRequest) (int, any) {
	texts := textsOf(q.body.Get("documents"))
	if len(texts) == 0 || len(texts) > maxVectorTexts {
		return q.refuse(http.StatusBadRequest, fmt.Sprintf("1 to %d documents are put into an order", maxVectorTexts))
	}
	query := queryText(q.body.Get("query"))
	place := make([]int, len(texts)) // in the recorded order, from 1; 0 for none
	scores := make([]exactjson.Value, len(texts))
	for _, r := range h.config.Stub.retrievals() {
		if r.query != query {
			continue
		}
		for i, text := range texts {
			if at := slices.IndexFunc(r.texts, func(t string) bool { return t == strings.TrimSpace(text) }); at >= 0 && place[i] == 0 {
				place[i], scores[i] = at+1, r.scores[at]
			}
		}
		break
	}
	order := make([]int, len(texts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case place[a] == 0 || place[b] == 0:
			return min(place[b], 1) - min(place[a], 1)
		default:
			return place[a] - place[b]
		}
	})
	if n, ok := q.body.First("top_n", "top_k").Int(); ok && n > 0 && int(min(n, maxVectorTexts)) < len(order) {
		order = order[:n]
	}
	results := []object{}
	for rank, i := range order {
		one := object{"index": i, "relevance_score": 1 - float64(rank)/float64(len(texts))}
		if score, ok := scores[i].Float(); ok {
			one["relevance_score"] = score
		} else {
			q.makeUp("scores")
		}
		if place[i] == 0 {
			q.makeUp("order")
		}
		if q.body.Get("return_documents").True() {
			one["document"] = object{"text": texts[i]}
		}
		results = append(results, one)
	}
	return http.StatusOK, object{"id": "tapedeck", "object": "list", "model": q.model, "results": results, "meta": object{"api_version": object{"version": "2"}, "billed_units": object{"search_units": 1}}}
}

// searchStore answers the search in a vector store that lies at the provider, from the recorded retrieval of
// the same query. Without one it is a miss, as a model call is: nothing else knows what lies there.
func searchStore(h *Handler, q *besideRequest) (int, any) {
	var queries []string
	list := []object{}
	for _, query := range textsOf(q.body.Get("query")) {
		query = strings.TrimSpace(query)
		queries = append(queries, query)
		recorded := h.config.Stub.retrievals()
		at := slices.IndexFunc(recorded, func(r retrieval) bool { return r.query == query })
		if at < 0 {
			q.missed = "no recorded retrieval has the query of " + q.http.Method + " " + cutPath(q.path)
			return 0, nil
		}
		for i, text := range recorded[at].texts {
			score, ok := recorded[at].scores[i].Float()
			if !ok {
				q.makeUp("scores")
				score = 1 - float64(i)/float64(len(recorded[at].texts))
			}
			id := "file-tapedeck" + itoa(len(list)+1)
			list = append(list, object{"file_id": id, "filename": id + ".txt", "score": score, "attributes": object{}, "content": []object{{"type": "text", "text": text}}})
		}
	}
	q.makeUp("files")
	return http.StatusOK, object{"object": "vector_store.search_results.page", "search_query": queries, "data": list, "has_more": false, "next_page": nil}
}
