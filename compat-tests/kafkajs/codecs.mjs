// The codecs that kafkajs leaves to others, put into its table.

import { createRequire } from 'node:module'
import kafkajs from 'kafkajs'
import lz4 from 'lz4-napi'
import snappy from 'snappyjs'

const { CompressionCodecs, CompressionTypes } = kafkajs
const zstd = createRequire(import.meta.url)('@bokuweb/zstd-wasm')

export const TYPES = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
}

// Java clients cut snappy data into the blocks of a stream: a header of 16 bytes, then
// blocks with their length as a big-endian 32-bit number before them.
const STREAM_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])
const STREAM_HEADER_BYTES = 16

function uncompressSnappy(buffer) {
  if (!buffer.subarray(0, STREAM_MAGIC.length).equals(STREAM_MAGIC)) return snappy.uncompress(buffer)
  const blocks = []
  for (let at = STREAM_HEADER_BYTES; at < buffer.length;) {
    const size = buffer.readInt32BE(at)
    blocks.push(snappy.uncompress(buffer.subarray(at + 4, at + 4 + size)))
    at += 4 + size
  }
  return Buffer.concat(blocks)
}

const codec = (compress, decompress) => () => ({
  compress: async encoder => Buffer.from(compress(encoder.buffer)),
  decompress: async buffer => Buffer.from(decompress(buffer)),
})

export async function installCodecs() {
  await zstd.init()
  CompressionCodecs[CompressionTypes.Snappy] = codec(snappy.compress, uncompressSnappy)
  CompressionCodecs[CompressionTypes.LZ4] = codec(lz4.compressFrameSync, lz4.decompressFrameSync)
  CompressionCodecs[CompressionTypes.ZSTD] = codec(zstd.compress, zstd.decompress)
}
