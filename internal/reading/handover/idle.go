// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import "context"

type idleKey struct{}

// OnIdle returns a context with which the next components may tell that a call has nothing left to do but to wait for others, such as for more traces that share
// an object. Whoever makes the call may then begin another one in its place. What stands in between and drops the context loses no more than that.
func OnIdle(ctx context.Context, idle func()) context.Context {
	return context.WithValue(ctx, idleKey{}, idle)
}

// Idle returns what tells it. Without OnIdle that is nil: whoever makes the call waits for it.
func Idle(ctx context.Context) func() {
	idle, _ := ctx.Value(idleKey{}).(func())
	return idle
}
