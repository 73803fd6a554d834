// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package sdktest lets the official Go SDKs of OpenAI, Anthropic and Google read what the model stub answers. Nobody else should have to
// require these modules, so it is a module of its own.
package sdktest
