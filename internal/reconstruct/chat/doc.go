// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package chat holds the messages of a conversation: which are the same, what they ask for, show and quote.
// It knows no span and no call.
package chat
