// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package genai

import (
	"github.com/tapedeck/tapedeck/internal/genai/decode"
	"github.com/tapedeck/tapedeck/internal/genai/dialect"
)

// Merge joins two reports of the same call. Fields of the outer one come first.
func Merge(outer, inner *dialect.Observation) *dialect.Observation {
	o := *outer
	o.Fill(inner)
	return &o
}

// MergeModel joins two reports of the same model call. Ids, usage and finish reasons of the inner one come first, all other fields of the
// outer one.
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
