// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

// Package fragment holds what one run is made of while its spans are being gathered.
package fragment
