// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package generation

import (
	"slices"

	"github.com/tapedeck/tapedeck/internal/deck/reel"
	"github.com/tapedeck/tapedeck/internal/reading/evidence"
	"github.com/tapedeck/tapedeck/internal/reading/genai"
	"github.com/tapedeck/tapedeck/tape"
)

// Rows are the rows of a reel for one generation. common holds what all of them have in common. The first row
// has the evidence; without tapes it is the only one. Their tapes are the bodies of the files.
func (d *Deriver) Rows(common reel.Row, made *Derived) []reel.Row {
	common.Producer, common.Formats = string(d.producer), d.Formats
	common.Revision, common.Items = int64(made.Generation.Revision), int64(made.Generation.Items)
	if len(made.Tapes) == 0 {
		for _, v := range made.Naming {
			common.Judge(JudgedBy(v))
		}
		return []reel.Row{common}
	}
	rows := make([]reel.Row, len(made.Tapes))
	for i, t := range made.Tapes {
		row := common
		row.Describe(t)
		if common.ReplayRunID != "" {
			row.ReplayRunID = common.ReplayRunID
		}
		for _, f := range made.Runs[i].Files {
			if f.Name == tape.TapeFile {
				row.Tape = f.Body
			} else {
				row.Files = append(row.Files, f.Name)
			}
		}
		slices.Sort(row.Files)
		if d.Sign != nil {
			row.Signature = d.Sign.Sign(Statement(t, row.Parts)).String()
		}
		if i > 0 {
			row.Evidence = nil
		}
		rows[i] = row
	}
	return rows
}

// Judged lists what verdicts of evidence without a run name, as values of the column judged.
func Judged(set *evidence.Set) []string {
	var m reel.Meta
	for _, v := range set.NamingVerdicts() {
		m.Judge(JudgedBy(v))
	}
	return m.Judged
}

// JudgedBy is what a verdict names beside a span, as a value of the column judged.
func JudgedBy(v genai.Verdict) string {
	if v.Response != "" {
		return reel.JudgedResponse(v.Response)
	}
	return reel.JudgedConversation(v.Conversation)
}
