// Copyright The tapedeck Authors
// SPDX-License-Identifier: Apache-2.0

package recorder

import (
	"encoding/binary"
	"hash/crc32"
)

// frame is one message of the encoding application/vnd.amazon.eventstream: lengths, headers, payload and two checksums.
func frame(event, payload string) []byte {
	var headers []byte
	for _, h := range [][2]string{{":message-type", "event"}, {":event-type", event}, {":content-type", "application/json"}} {
		headers = append(headers, byte(len(h[0])))
		headers = append(headers, h[0]...)
		headers = append(headers, 7) // a text
		headers = binary.BigEndian.AppendUint16(headers, uint16(len(h[1])))
		headers = append(headers, h[1]...)
	}
	const around = 4 + 4 + 4 + 4
	message := binary.BigEndian.AppendUint32(nil, uint32(around+len(headers)+len(payload)))
	message = binary.BigEndian.AppendUint32(message, uint32(len(headers)))
	message = binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
	message = append(message, headers...)
	message = append(message, payload...)
	return binary.BigEndian.AppendUint32(message, crc32.ChecksumIEEE(message))
}
