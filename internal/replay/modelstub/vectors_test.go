// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package modelstub

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tapedeck/tapedeck/tape"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// vectorRequests ask for vectors of one or two texts; place is where the last of them lies in the answer.
var vectorRequests = []struct {
	path   string
	body   map[string]any
	place  string
	length int
}{
	{"/v1/embeddings", map[string]any{"model": "text-embedding-3-small", "input": []string{"a", "b"}}, "data.1.embedding", 1536},
	{"/openai/deployments/text-embedding-3-large/embeddings?api-version=2024-10-21", map[string]any{"input": "b"}, "data.0.embedding", 3072},
	{"/v1/embeddings", map[string]any{"model": "m", "input": []int{1, 2}, "dimensions": 8}, "data.0.embedding", 8},
	{"/v1beta/models/gemini-embedding-001:embedContent", map[string]any{"content": geminiText("user", "b")}, "embedding.values", 3072},
	{"/v1beta/models/m:batchEmbedContents", map[string]any{"requests": []any{
		map[string]any{"content": geminiText("user", "a"), "outputDimensionality": 16}, map[string]any{"content": geminiText("user", "b")},
	}}, "embeddings.1.values", 16},
	{"/v1/projects/p/locations/l/publishers/google/models/text-embedding-005:predict", map[string]any{"instances": []any{map[string]any{"content": "b"}}}, "predictions.0.embeddings.values", 768},
	{"/api/embed", map[string]any{"model": "nomic-embed-text", "input": []string{"a", "b"}}, "embeddings.1", 768},
	{"/api/embeddings", map[string]any{"model": "nomic-embed-text", "prompt": "b"}, "embedding", 768},
	{"/v2/embed", map[string]any{"model": "embed-v4.0", "texts": []string{"a", "b"}, "embedding_types": []string{"int8", "float"}}, "embeddings.float.1", 1536},
	{"/v1/embed", map[string]any{"model": "embed-english-light-v3.0", "texts": []string{"b"}}, "embeddings.0", 384},
	{"/model/amazon.titan-embed-text-v2:0/invoke", map[string]any{"inputText": "b", "dimensions": 256}, "embedding", 256},
	{"/model/cohere.embed-english-v3/invoke", map[string]any{"texts": []string{"b"}}, "embeddings.float.0", 1024},
}

func numbers(v exactjson.Value) (list []float64) {
	for _, m := range v.Members() {
		x, _ := m.Value.Float()
		list = append(list, x)
	}
	return list
}

// askStub posts to a stub, and returns the answer with what the report says of it.
func askStub(t *testing.T, tp *tape.Tape, path string, body any) (*http.Response, exactjson.Value, Report) {
	t.Helper()
	h := NewHandler(Config{Stub: New(tp, Options{})})
	s := httptest.NewServer(h)
	defer s.Close()
	resp, text := post(t, s.URL+path, body)
	v, err := exactjson.Parse(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return resp, v, h.Report("")
}

// Vectors are made up, the same each time, and said to be so; nobody takes the request for a model call.
func TestVectorsAreMadeUpAndSaidToBe(t *testing.T) {
	for _, r := range vectorRequests {
		resp, v, report := askStub(t, conversationTape(t), r.path, r.body)
		_, again, _ := askStub(t, conversationTape(t), r.path, r.body)
		vector := numbers(at(v, r.place))
		if resp.StatusCode != http.StatusOK || len(vector) != r.length || math.Abs(dot(vector, vector)-1) > 1e-4 || !v.Equal(again) {
			t.Errorf("%s: %s, %d numbers", r.path, resp.Status, len(vector))
		}
		if resp.Header.Get(headerMadeUp) != "vectors" || report.Missed != 0 || len(report.Calls) != 0 || len(report.Beside) != 1 || report.Beside[0].Outcome != MadeUp {
			t.Errorf("%s: made up %q, report %+v", r.path, resp.Header.Get(headerMadeUp), report)
		}
		if text := strings.Contains(fmt.Sprint(r.body), "b"); text && r.length >= 256 {
			want, _ := (&space{}).of("b", r.length)
			if dot(vector, want) < 0.9999 {
				t.Errorf("%s: the vector is not that of its text", r.path)
			}
		}
	}
}

func TestVectorsInBytesAreThoseInNumbers(t *testing.T) {
	_, v, _ := askStub(t, conversationTape(t), "/v1/embeddings", map[string]any{"model": "m", "input": "b", "dimensions": 32})
	_, coded, _ := askStub(t, conversationTape(t), "/v1/embeddings", map[string]any{"model": "m", "input": "b", "dimensions": 32, "encoding_format": "base64"})
	raw, err := base64.StdEncoding.DecodeString(at(coded, "data.0.embedding").Str())
	if err != nil || len(raw) != 32*4 {
		t.Fatal(err, len(raw))
	}
	for i, x := range numbers(at(v, "data.0.embedding")) {
		if y := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); y != float32(x) {
			t.Errorf("%d: %v, %v", i, x, y)
		}
	}
	_, forms, _ := askStub(t, conversationTape(t), "/v2/embed", map[string]any{"model": "m", "texts": []string{"b"}, "output_dimension": 16, "embedding_types": []string{"int8", "uint8", "binary", "ubinary", "float"}})
	floats := numbers(at(forms, "embeddings.float.0"))
	for i, n := range numbers(at(forms, "embeddings.int8.0")) {
		if n != math.Round(floats[i]*127*4/3) || numbers(at(forms, "embeddings.uint8.0"))[i] != n+128 {
			t.Errorf("%d: %v of %v", i, n, floats[i])
		}
	}
	bits := numbers(at(forms, "embeddings.ubinary.0"))
	for i := range 16 {
		if set := int(bits[i/8])>>(7-i%8)&1 == 1; set != (floats[i] > 0) {
			t.Errorf("bit %d is %v of %v", i, set, floats[i])
		}
	}
}

func TestWhatAsksForTooManyVectorsIsRefused(t *testing.T) {
	for _, body := range []map[string]any{
		{"input": []string{}}, {"input": make([]string, maxVectorTexts+1)}, {"input": "x", "dimensions": maxVectorLength + 1}, {"input": "x", "dimensions": math.MaxInt64},
		{"input": make([]string, 2000), "dimensions": 4096}, {},
	} {
		resp, v, report := askStub(t, conversationTape(t), "/v1/embeddings", body)
		if resp.StatusCode != http.StatusBadRequest || report.Missed != 0 || len(report.Beside) != 1 || report.Beside[0].Outcome != NotServed {
			t.Errorf("%s: %s", resp.Status, v.JSON())
		}
	}
	if resp, v, _ := askStub(t, conversationTape(t), "/v2/embed", map[string]any{"texts": []string{"a"}, "embedding_types": []string{"int3"}}); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("%s: %s", resp.Status, v.JSON())
	}
}

const otherDocument = "Parcels leave the house at noon on each working day."

// searchedTape is the run of conversationTape, with a retrieval.
func searchedTape(t testing.TB) (tp *tape.Tape, documents []string) {
	t.Helper()
	tp = conversationTape(t)
	var list []exactjson.Value
	for i := range 12 {
		documents = append(documents, fmt.Sprintf("Document %d tells where the racks of the house in Bern stand.", i))
		v, err := exactjson.Parse(fmt.Sprintf(`{"document":{"id":"%d","content":%q,"score":0.%d}}`, i, documents[i], 90-i))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	tp.Events = append(tp.Events, tape.Event{Seq: len(tp.Events) + 1, Type: tape.EventRetrieval, Query: exactjson.StringValue("Where are the racks?"), Documents: exactjson.ArrayValue(list...)})
	return tp, documents
}

// A program that searches its own vectors finds for a recorded query the recorded documents, in their order.
func TestASearchOfVectorsFindsWhatWasRecorded(t *testing.T) {
	tp, documents := searchedTape(t)
	var all []string
	for i := range 500 {
		all = append(all, fmt.Sprintf("Another text, of the number %d.", i))
	}
	all = append(all, otherDocument)
	for i, d := range slices.Backward(documents) {
		if i%2 == 0 {
			d = "title: Racks\n\n" + d // as frameworks put metadata before a text
		}
		all = append(all, d)
	}
	for _, length := range []int{64, 1536} {
		_, v, _ := askStub(t, tp, "/v1/embeddings", map[string]any{"model": "m", "input": all, "dimensions": length})
		resp, q, _ := askStub(t, tp, "/v1/embeddings", map[string]any{"model": "m", "input": "Where are the racks?", "dimensions": length})
		query := numbers(at(q, "data.0.embedding"))
		order := make([]int, len(all))
		product := make([]float64, len(all))
		for i := range all {
			order[i], product[i] = i, dot(query, numbers(at(v, fmt.Sprintf("data.%d.embedding", i))))
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(product[b], product[a]) })
		for i, want := range documents {
			if got := all[order[i]]; !strings.HasSuffix(got, want) {
				t.Errorf("length %d, place %d: %q", length, i, got)
			}
		}
		if made := resp.Header.Get(headerMadeUp); made != "vectors, vectors: nearest to the recorded documents" {
			t.Error(made)
		}
	}
	// with fewer numbers than the documents need, the vector is that of the text
	if resp, _, _ := askStub(t, tp, "/v1/embeddings", map[string]any{"input": "Where are the racks?", "dimensions": 8}); resp.Header.Get(headerMadeUp) != "vectors" {
		t.Error(resp.Header.Get(headerMadeUp))
	}
}

func TestDocumentsAreRankedAsRecorded(t *testing.T) {
	tp, documents := searchedTape(t)
	for _, path := range []string{"/v2/rerank", "/v1/rerank", "/model/cohere.rerank-v3-5:0/invoke"} {
		resp, v, report := askStub(t, tp, path, map[string]any{"model": "m", "query": "Where are the racks?", "documents": []any{documents[3], map[string]any{"text": documents[1]}}})
		if at(v, "results.0.index").Text() != "1" || at(v, "results.0.relevance_score").Text() != "0.89" || resp.Header.Get(headerMadeUp) != "" || report.Beside[0].Outcome != FromTape {
			t.Errorf("%s: %s, made up %q", path, v.JSON(), resp.Header.Get(headerMadeUp))
		}
		resp, v, report = askStub(t, tp, path, map[string]any{"query": "Where are the racks?", "documents": []any{otherDocument, documents[1]}, "top_n": 1})
		if v.Get("results").Len() != 1 || at(v, "results.0.index").Text() != "1" || resp.Header.Get(headerMadeUp) != "" {
			t.Errorf("%s: %s, made up %q", path, v.JSON(), resp.Header.Get(headerMadeUp))
		}
		resp, v, report = askStub(t, tp, path, map[string]any{"query": "Another question?", "documents": []any{documents[3], documents[1]}})
		if at(v, "results.0.index").Text() != "0" || resp.Header.Get(headerMadeUp) != "order, scores" || report.Beside[0].Outcome != MadeUp || report.Missed != 0 {
			t.Errorf("%s: %s, made up %q", path, v.JSON(), resp.Header.Get(headerMadeUp))
		}
	}
	if resp, _, _ := askStub(t, tp, "/v2/rerank", map[string]any{"query": "x", "documents": []any{}}); resp.StatusCode != http.StatusBadRequest {
		t.Error(resp.Status)
	}
}

// What lies in a vector store at the provider is known for the recorded queries alone; any other is a miss.
func TestASearchAtTheProviderIsAnsweredFromTheTapeOrMissed(t *testing.T) {
	tp, documents := searchedTape(t)
	resp, v, report := askStub(t, tp, "/v1/vector_stores/vs_1/search", map[string]any{"query": "Where are the racks?"})
	if resp.StatusCode != http.StatusOK || v.Get("data").Len() != len(documents) || at(v, "data.2.content.0.text").Str() != documents[2] || at(v, "data.2.score").Text() != "0.88" || report.Missed != 0 {
		t.Errorf("%s: %s", resp.Status, v.JSON())
	}
	resp, v, report = askStub(t, tp, "/v1/vector_stores/vs_1/search", map[string]any{"query": "Where is the cat?"})
	if resp.StatusCode != http.StatusNotImplemented || report.Missed != 1 || len(report.Beside) != 0 {
		t.Errorf("%s: %s %+v", resp.Status, v.JSON(), report)
	}
}

func TestDocumentsOfAnyFrameworkHaveTheirText(t *testing.T) {
	for text, want := range map[string]string{
		`"t"`: "t", `{"page_content":"t","metadata":{}}`: "t", `{"document":{"content":"t","score":0.5}}`: "t 0.5", `{"node":{"text":"t"},"score":0.5}`: "t 0.5", `{"id":1}`: "",
		`{"node":{"node":{"node":{"node":"t"}}}}`: "",
	} {
		v, err := exactjson.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got, score := documentText(v)
		if got = strings.TrimSpace(got + " " + score.Text()); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func FuzzVectorsOfAnyText(f *testing.F) {
	f.Add("Where are the racks?", 1536)
	f.Add("", 1)
	tp, _ := searchedTape(f)
	s := New(tp, Options{}).vectors()
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 1), 512)
		v, _ := s.of(text, n)
		if length := dot(v, v); len(v) != n || math.IsNaN(length) || math.Abs(length-1) > 1e-6 {
			t.Errorf("%q: %d numbers, length %v", text, len(v), length)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	})
}
