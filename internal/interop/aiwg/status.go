// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tapedeck/tapedeck/internal/interop"
	"github.com/tapedeck/tapedeck/tape/exactjson"
)

// recordKind is the kind of the files that say how a replay went. A snapshot is never changed for it.
const recordKind = "replay-status"

// Record says how one replay of a run compared with it. It holds no clock, so the same comparison gives the same record. The order of
// the fields is that of the file.
type Record struct {
	Kind string `json:"kind"`
	// ReplayedAt is the end of the replay.
	ReplayedAt time.Time `json:"replayed_at"`
	// Result is what the comparison gave; nil when the replay could not be compared.
	Result *Result `json:"result,omitempty"`
	// Replay names the run that failed, and Error says how, where there is no Result.
	Replay string `json:"replay,omitempty"`
	Error  string `json:"error,omitempty"`
	// Note says what the comparison was noted in spite of.
	Note string `json:"note,omitempty"`
}

// NewRecord notes the outcome of a comparison, or why the replay could not be compared.
func NewRecord(replayed Outcome, r Result, failure error) (Record, error) {
	at, ok := timeOf(replayed.Ended)
	if !ok {
		return Record{}, fmt.Errorf("the end of the replay %s is not known", replayed.ID)
	}
	record := Record{Kind: recordKind, ReplayedAt: at, Result: &r}
	if failure != nil {
		record.Result, record.Replay, record.Error = nil, replayed.ID, failure.Error()
	}
	return record, nil
}

// Append appends the record as the file holds it.
func (r Record) Append(dst []byte) ([]byte, error) {
	body, err := json.Marshal(r)
	return append(append(dst, body...), '\n'), err
}

// ReadRecord reads a file that Append wrote.
func ReadRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil || r.Kind != recordKind || r.ReplayedAt.IsZero() || r.Result == nil && r.Error == "" {
		return Record{}, fmt.Errorf("read replay status: %w", interop.ErrNotFormat)
	}
	return r, nil
}

// Failed reports a replay after which a run is kept longer: it ended without a match, with a partial one, or not at all.
func (r Record) Failed() bool {
	return r.Result == nil || r.Result.Status == NoMatch || r.Result.Status == PartialMatch
}

func (r Record) replay() string {
	if r.Result != nil {
		return r.Result.Replayed
	}
	return r.Replay
}

// ReplayStatus composes what the schema calls replay_status from the records of a run, in any order. A replay that was compared in several
// ways counts once, with the closest match; match_status is that of the last replay which could be compared.
func ReplayStatus(records []Record) exactjson.Value {
	if len(records) == 0 {
		return exactjson.ObjectValue(
			interop.Member("replayed", exactjson.BoolValue(false)), interop.Member("replay_count", exactjson.IntValue(0)),
			interop.Member("match_status", exactjson.StringValue(string(NotReplayed))))
	}
	closeness := []Status{NoMatch, PartialMatch, SemanticMatch, ExactMatch}
	sorted := slices.Clone(records)
	slices.SortFunc(sorted, func(a, b Record) int {
		rank := func(r Record) int {
			if r.Result == nil {
				return -1
			}
			return slices.Index(closeness, r.Result.Status)
		}
		return cmp.Or(a.ReplayedAt.Compare(b.ReplayedAt), strings.Compare(a.replay(), b.replay()), cmp.Compare(rank(a), rank(b)),
			strings.Compare(fmt.Sprint(a.Result), fmt.Sprint(b.Result)))
	})
	replays := map[string]bool{}
	status, match := NotReplayed, exactjson.Value{}
	for _, r := range sorted {
		replays[r.replay()] = true
		if r.Result != nil {
			status = r.Result.Status
			match = exactjson.ObjectValue(
				interop.Member("strategy", exactjson.StringValue(string(r.Result.Strategy))),
				interop.Member("measure", interop.StringOrNone(r.Result.Measure)),
				interop.Member("score", exactjson.FloatValue(r.Result.Score)),
				interop.Member("replayed", interop.StringOrNone(r.Result.Replayed)))
		}
	}
	last := sorted[len(sorted)-1]
	return exactjson.ObjectValue(
		interop.Member("replayed", exactjson.BoolValue(true)),
		interop.Member("replay_count", exactjson.IntValue(int64(len(replays)))),
		interop.Member("last_replay", instant(last.ReplayedAt)),
		interop.Member("match_status", exactjson.StringValue(string(status))),
		interop.Member("x_match", match),
		interop.Member("x_note", interop.StringOrNone(last.Note)),
		interop.Member("x_error", interop.StringOrNone(last.Error)))
}
