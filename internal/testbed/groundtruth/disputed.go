// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package groundtruth

// Disputed are values of the corpus that count as defects and are none, or none that a reader of the telemetry could mend, with the
// reason: group/scenario and field. Each is checked: one that comes out right is no longer disputed.
var Disputed = map[string]string{
	"langsmith-openai/stream_final status": "the run answered, and its telemetry ends with the result of a tool, as that of a run that failed after it does",
}
