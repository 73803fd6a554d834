// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
)

// Merge returns what two reports of the same call say together; the outer one speaks first.
func Merge(outer, inner *dialect.Observation) *dialect.Observation {
	o := *outer
	o.Fill(inner)
	return &o
}

// MergeModel returns what two reports of the same model call say together: messages from the outer one, ids, usage and finish from
// the inner one.
func MergeModel(outer, inner *dialect.Observation) *dialect.Observation {
	o := *outer
	if inner.ResponseID != "" {
		o.ResponseID = inner.ResponseID
	}
	if inner.ResponseModel != "" {
		o.ResponseModel = inner.ResponseModel
	}
	if len(inner.FinishReasons) > 0 {
		o.FinishReasons = inner.FinishReasons
	}
	u := inner.Usage
	decode.FillUsage(&u, o.Usage)
	o.Usage = u
	o.Fill(inner)
	return &o
}
