// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package waza

import "github.com/tapedeck/tapedeck/internal/interop"

// carried is said of members that only the harness of waza knows. Those of a snapshot that was read come back as they were.
const carried = "waza's runner alone knows it; that of a snapshot that was read is carried along"

// origins say where each member of a snapshot comes from.
var origins = map[string]interop.Field{
	"schemaVersion":                       {From: "`1.0`, which every version of waza reads; of a snapshot that was read, its own"},
	"kind":                                {From: "`task-snapshot`"},
	"wazaVersion":                         {From: "runs that waza's own spans report ([dialect `waza`](dialects.md)): their service version"},
	"createdAt":                           {From: "the end of the run"},
	"evalId":                              {From: "waza's own spans, else [the harness](tape-format.md#top-level) (`record --eval-id`)"},
	"evalName":                            {From: "waza's own spans, else the harness (`--eval-name`)"},
	"skill":                               {From: "waza's own spans, else the harness (`--skill`)"},
	"task.testId":                         {From: "the task as waza's own spans name it, else the harness (`--task`), else the name of the agent, else of the service"},
	"task.displayName":                    {From: "waza's own spans, or `record --display-name`"},
	"task.group":                          {Why: "waza defines it and never fills it"},
	"task.golden":                         {From: "the harness (`--golden`)"},
	"task.tags":                           {Why: carried},
	"task.runNumber":                      {From: "the trial of waza's own spans, else the harness (`--run`), else 1; `export --flat` numbers equal ones on"},
	"task.tapedeck":                       {From: "our own member, which readers of waza ignore: run id and the like, status, grade, codes of findings"},
	"engine.type":                         {From: "the engine that waza's own spans name, else the dialects of the telemetry"},
	"engine.modelId":                      {From: "the model, where all model calls agree"},
	"engine.judgeModel":                   {Why: carried},
	"engine.timeoutSec":                   {Why: carried},
	"engine.temperature":                  {From: "the request, where all model calls agree"},
	"engine.topP":                         {From: "the request, where all model calls agree"},
	"engine.seed":                         {From: "the request, where all model calls agree"},
	"prompt.message":                      {From: "the user message"},
	"prompt.followUps":                    {From: "the messages of the user that later model calls at the top were sent, in order. Where a conversation was cut on the way, a message that equals an earlier one is not told from it"},
	"prompt.context":                      {Why: carried},
	"prompt.instructions[].path":          {From: "the harness (`--instructions`); `system-prompt` for the system prompt, which came from no file"},
	"prompt.instructions[].sha256":        {From: "the harness; the digest of the system prompt"},
	"toolEvents[].turn":                   {From: "the number of the model call that asked for it, 0 when not known"},
	"toolEvents[].sequence":               {From: "1..N, in the order of the tape"},
	"toolEvents[].tool_call_id":           {From: "the call"},
	"toolEvents[].tool_name":              {From: "the call"},
	"toolEvents[].args":                   {From: "as recorded, absent when not recorded"},
	"toolEvents[].result":                 {From: "as recorded, absent when not recorded; answers that [`--override`](cli.md#replay-with-a-command) lays over it lie in an oracle file and change no snapshot"},
	"toolEvents[].success":                {From: "whether the call failed"},
	"toolEvents[].error":                  {From: "the message of the error"},
	"toolEvents[].duration_ms":            {From: "the span"},
	"fixtures[].path":                     {From: "the harness (`--fixtures`), and media of the first request that are files and come with a digest"},
	"fixtures[].size":                     {From: "the same, where it is known"},
	"fixtures[].sha256":                   {From: "the same"},
	"env.allowList":                       {From: "`record --env-allow`, `export --env-allow`"},
	"env.captured":                        {From: "what these let through; values whose names look like a secret are `[REDACTED]`"},
	"env.deniedKeys":                      {Why: "what is held back is not named: names of variables tell about a machine"},
	"redaction.policy":                    {From: "`disabled` for a tape without redaction, `default+custom` where rules of the user's were used, else `default`; tokens of redacted values become `[REDACTED]`"},
	"redaction.appliedRules":              {From: "the rules that hit"},
	"redaction.redactionCount":            {From: "the count"},
	"result.status":                       {From: "`error` when the run failed; else `passed` or `failed` as the checks of the harness and verdicts say; else `skipped`: telemetry holds no verdict of a grader"},
	"result.finalOutput":                  {From: "the answer"},
	"result.errorMsg":                     {From: "the error of the run"},
	"result.durationMs":                   {From: "the run"},
	"result.validations.*.identifier":     {From: "the checks of the harness (`record --check`), and verdicts on the run with the label `pass` or `fail`"},
	"result.validations.*.type":           {From: "`program`; `prompt` for a verdict of the judge LLM"},
	"result.validations.*.score":          {From: "1 for a check that passed, else 0; the value of a verdict where it is from 0 to 1"},
	"result.validations.*.weight":         {From: "1"},
	"result.validations.*.passed":         {From: "the check ended with 0, or the label of the verdict is `pass`"},
	"result.validations.*.feedback":       {From: "the exit code of the check, or the explanation of the verdict"},
	"result.validations.*.details":        {Why: carried},
	"result.validations.*.duration_ms":    {From: "always written; 0, for a check is not timed"},
	"commandInvocations[].command":        {Why: "since 1.1, mocked commands: " + carried},
	"commandInvocations[].args":           {Why: "as `command`"},
	"commandInvocations[].exit_code":      {Why: "as `command`"},
	"commandInvocations[].response_index": {Why: "as `command`"},
	"checkpoints[].after_turn":            {Why: "since 1.1, graders between turns: " + carried},
	"checkpoints[].status":                {Why: "as `after_turn`"},
	"checkpoints[].validations":           {Why: "as `after_turn`"},
	"checkpoints[].stopped":               {Why: "as `after_turn`"},
	"evidence":                            {Why: "since 1.1, a manifest that waza seals. It is carried along as it came, and left out when the tape has changed: never sealed anew"},
	"workspaceFiles[].path":               {Why: "since 1.1, whole files: a tape holds digests of the workspace alone, see `fixtures`"},
	"workspaceFiles[].content":            {Why: "as `path`"},
	"workspaceFiles[].sha256":             {Why: "as `path`"},
	"workspaceFiles[].redacted":           {Why: "as `path`"},
}

// Fields lists every member of a snapshot in the order in which waza writes them.
func Fields() []interop.Field { return snapshotShape.fields("", nil) }

func (s shape) fields(path string, list []interop.Field) []interop.Field {
	for _, m := range s {
		at := interop.Join(path, m.name)
		switch {
		case m.of == nil, at == "checkpoints[].validations":
			f := origins[at]
			f.Path = at
			list = append(list, f)
		case m.is == objectList:
			list = m.of.fields(at+"[]", list)
		case m.is == objectMap:
			list = m.of.fields(at+".*", list)
		default:
			list = m.of.fields(at, list)
		}
	}
	return list
}
