// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package aiwg

import "github.com/tapedeck/tapedeck/internal/interop"

// origins say where each member that the schema names comes from.
var origins = map[string]interop.Field{
	"snapshot_id":                           {From: "a UUID (version 5) of tenant, trace and root span: the same run has the same one"},
	"workflow_id":                           {From: "the workflow, else the agent, else the service"},
	"version":                               {From: "`1.0`"},
	"captured_at":                           {From: "the end of the run; times are RFC 3339 in UTC"},
	"config.model.id":                       {From: "the model that gave the final answer; `x_models` where there were several"},
	"config.model.provider":                 {From: "its provider"},
	"config.model.version":                  {From: "what the provider calls it, where it is another name"},
	"config.execution_mode":                 {From: "as recorded, else inferred: `strict` when every model call has temperature 0 and a seed, `seeded` when every one has a seed, `logged` when the content of every call is recorded, else `default`; `x_mode_evidence` says what was seen"},
	"config.temperature":                    {From: "the request, where all model calls agree"},
	"config.seed":                           {From: "the request, where all model calls agree"},
	"config.max_tokens":                     {From: "the request, where all model calls agree"},
	"config.top_p":                          {From: "the request, where all model calls agree"},
	"config.stop_sequences":                 {From: "the request, where all model calls agree"},
	"config.system_prompt_hash":             {From: "the system prompt, as it stands in the tape"},
	"agent.name":                            {From: "the agent, else the service"},
	"agent.version":                         {From: "the agent, else the service"},
	"agent.tools":                           {From: "the tools that were offered; `x_tools_observed` when only those that were called are known"},
	"agent.rules_active":                    {From: "[the harness](tape-format.md#top-level) (`record --rules-active`): no span tells them"},
	"inputs.user_prompt":                    {From: "the user message"},
	"inputs.user_prompt_hash":               {From: "its digest, after redaction"},
	"inputs.context_files[].path":           {From: "instructions and fixtures of the harness, media of the first request that are files, files that well-known tools read, sources of retrievals"},
	"inputs.context_files[].hash":           {From: "only where the whole content is known"},
	"inputs.context_files[].size_bytes":     {From: "only where the whole content is known"},
	"inputs.environment":                    {From: "service name, namespace, version and environment; variables that `record --env-allow` let through"},
	"outputs.response":                      {From: "the answer"},
	"outputs.response_hash":                 {From: "its digest, always written with it"},
	"outputs.artifacts_created[].path":      {From: "what the harness saw in the workspace (`record --workspace`), with `x_hash_before`; where it did not look, files that well-known tools wrote, without failing"},
	"outputs.artifacts_created[].hash":      {From: "the same"},
	"outputs.artifacts_created[].operation": {From: "the same; of tools, where the tool tells it"},
	"outputs.tool_calls[].tool":             {From: "every call in order, with `x_seq`, `x_call_id`, `x_span_id`, `x_status`, `x_error_type`"},
	"outputs.tool_calls[].input_hash":       {From: "`args_hash` of the [tape format](tape-format.md)"},
	"outputs.tool_calls[].output_hash":      {From: "`result_sha256` of the tape format"},
	"outputs.tool_calls[].timestamp":        {From: "the start of the span"},
	"metrics.duration_ms":                   {From: "the run"},
	"metrics.tokens_input":                  {From: "the sum over model calls, each counted once"},
	"metrics.tokens_output":                 {From: "the sum over model calls, each counted once"},
	"metrics.tool_calls_count":              {From: "the calls that are listed"},
	"metrics.iterations":                    {From: "model calls at the top"},
	"replay_status.replayed":                {From: "`export`, from what the deck notes of replays (`replay --note`, `match --record`); beside a tape it is not written"},
	"replay_status.replay_count":            {From: "the same: each replay counts once"},
	"replay_status.last_replay":             {From: "the same: the end of the last replay"},
	"replay_status.match_status":            {From: "the same: of the last one that could be compared, the closest when it was compared in several ways"},
}

// Fields lists every member that the schema names, in its order.
func Fields() []interop.Field { return snapshotShape.fields("", nil) }

func (s shape) fields(path string, list []interop.Field) []interop.Field {
	for _, m := range s {
		at := interop.Join(path, m.name)
		switch {
		case m.of == nil:
			f := origins[at]
			f.Path = at
			list = append(list, f)
		case m.is == objectList:
			list = m.of.fields(at+"[]", list)
		default:
			list = m.of.fields(at, list)
		}
	}
	return list
}
