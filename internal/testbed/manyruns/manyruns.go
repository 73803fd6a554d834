// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package manyruns fills decks of reels with as many runs as a test wants, faster than by deriving each. Some runs are derived, and the others are these with other
// ids: their evidence and tapes are what derivation makes of them. The same options give the same reels.
package manyruns

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"golang.org/x/sync/errgroup"

	"github.com/tapedeck/tapedeck/internal/deck"
	"github.com/tapedeck/tapedeck/internal/deck/generation"
	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/testbed/agentload"
	"github.com/tapedeck/tapedeck/tape"
)

// Options say what is made.
type Options struct {
	Runs    int
	PerReel int             // runs of a reel; 0 is 5000
	Days    int             // days over which the runs are spread, those of their reels too; 0 is 1
	First   time.Time       // the first of them; zero is 2026-01-01
	Shape   agentload.Shape // of a run; zero is Small
	Seed    uint64
	Kinds   int // how many runs are derived; 0 is 256
	Level   int // of the reels, as if compactions had made them
	// Revision of the derivation that the rows claim; 0 is that of this program.
	Revision int
}

// Small is a run of 4 spans and about 2 KB.
var Small = agentload.Shape{Turns: 2, ToolBytes: 200, TextBytes: 100, Resend: true}

// kind is a run that was derived: the others of its kind differ in their ids.
type kind struct {
	row          reel.Row
	trace        string
	ids          []int // where the trace id stands in the evidence
	conversation []int // where the digits of the conversation id stand in it
	tape         *tape.Tape
}

// Write makes runs, and writes them into a deck of reels. It returns how many reels it has written.
func Write(ctx context.Context, d *deck.Deck, o Options) (reels int, err error) {
	if o.PerReel == 0 {
		o.PerReel = 5000
	}
	if o.Days == 0 {
		o.Days = 1
	}
	if o.Kinds == 0 {
		o.Kinds = 256
	}
	if o.Shape == (agentload.Shape{}) {
		o.Shape = Small
	}
	if o.First.IsZero() {
		o.First = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	kinds, err := o.kinds()
	if err != nil {
		return 0, err
	}
	if err := d.Begin(ctx); err != nil {
		return 0, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for from := 0; from < o.Runs; from += o.PerReel {
		reels++
		g.Go(func() error { return o.reel(ctx, d, kinds, from, min(o.Runs, from+o.PerReel)) })
	}
	return reels, g.Wait()
}

// day is that on which a run was written.
func (o *Options) day(run int) int { return run * o.Days / max(1, o.Runs) }

// reel writes the runs [from, to).
func (o *Options) reel(ctx context.Context, d *deck.Deck, kinds []kind, from, to int) error {
	r := rand.New(rand.NewPCG(^o.Seed, uint64(from)))
	day := o.day(from)
	byDay := kinds[day*len(kinds)/o.Days : max(day*len(kinds)/o.Days+1, (day+1)*len(kinds)/o.Days)]
	rows := make([]reel.Row, 0, to-from)
	for n := from; n < to; n++ {
		row, err := byDay[n%len(byDay)].another(r)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	body, err := reel.Encode(rows)
	if err == nil {
		_, err = reel.Put(ctx, d, reel.NameOf(deck.AreaRuns, "default", o.First.AddDate(0, 0, day), o.Level, body), body)
	}
	return err
}

// another is a run of the kind with ids of its own.
func (k *kind) another(r *rand.Rand) (reel.Row, error) {
	var id [16]byte
	binary.BigEndian.PutUint64(id[:], r.Uint64()|1)
	binary.BigEndian.PutUint64(id[8:], r.Uint64()|1)
	trace := hex.EncodeToString(id[:])
	row := k.row
	row.Evidence = slices.Clone(row.Evidence)
	for _, at := range k.ids {
		copy(row.Evidence[at:], id[:])
	}
	conversation := trace[:len(k.row.ConversationID)-len(conversationPrefix)]
	for _, at := range k.conversation {
		copy(row.Evidence[at:], conversation)
	}
	row.TraceID, row.RunID, row.ConversationID = trace, trace+"-"+row.RootSpanID, conversationPrefix+conversation
	row.Part = deck.PartDigest(row.Evidence)
	row.Parts = []string{row.Part}
	t := *k.tape
	t.Run.TraceID, t.Run.RunID, t.Run.ConversationID = row.TraceID, row.RunID, row.ConversationID
	t.Sources.TraceIDs = []string{trace}
	files, _, err := generation.Files(nil, &t, row.Formats) // the tape names the digests of what lies beside it
	if err != nil {
		return row, err
	}
	row.Tape, row.TapeID = slices.Clone(files[len(files)-1].Body), t.TapeID
	if bytes.Contains(row.Tape, []byte(k.trace)) || bytes.Contains(row.Tape, []byte(k.row.ConversationID)) {
		return row, fmt.Errorf("the tape of run %s has ids of another one", row.RunID)
	}
	return row, nil
}

// conversationPrefix begins a conversation id of agentload. Digits follow.
const conversationPrefix = "conv-"

// positions are where a text stands.
func positions(body, text []byte) (at []int) {
	for from := 0; ; from += len(text) {
		i := bytes.Index(body[from:], text)
		if i < 0 {
			return at
		}
		from += i
		at = append(at, from)
	}
}

var (
	agents = []string{"coder", "planner", "reviewer", "support", "analyst", "router", "writer", "tester"}
	tools  = []string{"bash", "search", "read_file", "write_file", "sql", "http_get", "calculator"}
	models = []string{"gpt-x-large", "gpt-x-small", "sonnet-y", "haiku-z"}
)

// kinds derives the runs that the others are made of. They are spread over the days.
func (o *Options) kinds() ([]kind, error) {
	load := agentload.New(o.Seed)
	r := rand.New(rand.NewPCG(o.Seed, 77))
	w := generation.New(generation.Options{Producer: generation.Producer(), Revision: o.Revision})
	kinds := make([]kind, max(o.Kinds, o.Days))
	for i := range kinds {
		td := load.Trace(o.Shape)
		at := o.First.Add(time.Duration(float64(o.Days) * float64(i) / float64(len(kinds)) * 24 * float64(time.Hour)))
		vary(td, at, r)
		set := evidence.NewSet()
		set.AddTraces(td)
		part, err := set.Canonical()
		if err != nil {
			return nil, err
		}
		digest := deck.PartDigest(part)
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0)
		id := span.TraceID()
		k := kind{trace: hex.EncodeToString(id[:])}
		derived, err := w.Derive("default", k.trace, []string{digest}, func(string) ([]byte, error) { return part, nil })
		if err != nil {
			return nil, err
		}
		if len(derived.Tapes) != 1 {
			return nil, fmt.Errorf("%d runs in trace %s", len(derived.Tapes), k.trace)
		}
		k.row = w.Rows(reel.Row{Evidence: part, Meta: reel.Meta{Tenant: "default", TraceID: k.trace, Area: string(deck.AreaRuns), Part: digest, Parts: []string{digest}, Complete: true}}, derived)[0]
		k.ids = positions(part, id[:])
		k.conversation = positions(part, []byte(strings.TrimPrefix(k.row.ConversationID, conversationPrefix)))
		if k.tape, err = tape.Read(k.row.Tape); err != nil {
			return nil, err
		}
		kinds[i] = k
	}
	return kinds, nil
}

// vary gives a run names and a time of its own, and lets some fail.
func vary(td ptrace.Traces, at time.Time, r *rand.Rand) {
	rs := td.ResourceSpans().At(0)
	rs.Resource().Attributes().PutStr("service.name", fmt.Sprintf("service-%d", r.IntN(12)))
	agent, tool, model, fails := agents[r.IntN(len(agents))], tools[r.IntN(len(tools))], models[r.IntN(len(models))], r.IntN(10) == 0
	spans := rs.ScopeSpans().At(0).Spans()
	var shift pcommon.Timestamp
	for i, s := range spans.All() {
		if i == 0 {
			shift = pcommon.Timestamp(at.UnixNano()) - s.StartTimestamp()
		}
		s.SetStartTimestamp(s.StartTimestamp() + shift)
		s.SetEndTimestamp(s.EndTimestamp() + shift)
		a := s.Attributes()
		switch operation, _ := a.Get("gen_ai.operation.name"); operation.Str() {
		case "invoke_agent":
			a.PutStr("gen_ai.agent.name", agent)
			if fails {
				s.Status().SetCode(ptrace.StatusCodeError)
				a.PutStr("error.type", "timeout")
			}
		case "execute_tool":
			a.PutStr("gen_ai.tool.name", tool)
		case "chat":
			a.PutStr("gen_ai.request.model", model)
			if said, ok := a.Get("gen_ai.output.messages"); ok {
				said.SetStr(string(bytes.ReplaceAll([]byte(said.Str()), []byte(`"name":"bash"`), []byte(`"name":"`+tool+`"`))))
			}
			if said, ok := a.Get("gen_ai.input.messages"); ok {
				said.SetStr(string(bytes.ReplaceAll([]byte(said.Str()), []byte(`"name":"bash"`), []byte(`"name":"`+tool+`"`))))
			}
		}
	}
}
