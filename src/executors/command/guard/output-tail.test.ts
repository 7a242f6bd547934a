import fc from 'fast-check'
import { expect, test } from 'vitest'
import { seed } from '../../../../test/seed.ts'
import { OutputTail } from './output-tail.ts'

test('nothing is kept of nothing', () => {
  const tail = new OutputTail(10)
  expect(Buffer.from(tail.read()).toString()).toBe('')
  expect(tail.isCutOff).toBe(false)
})

test('the end of the output is kept, however it arrives', () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 30 }), { maxLength: 20 })
  const compare = (written: Uint8Array[], capacity: number): void => {
    const tail = new OutputTail(capacity)
    for (const piece of written) tail.add(piece)
    const all = Buffer.concat(written)
    expect(Buffer.from(tail.read())).toEqual(all.subarray(-capacity))
    expect(tail.isCutOff).toBe(all.length > capacity)
  }
  fc.assert(fc.property(pieces, fc.integer({ min: 1, max: 40 }), compare), { seed, numRuns: 500 })
})
