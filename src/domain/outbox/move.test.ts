/** Goal: what may stand on GitHub already is looked for before it is made. */
import { expect, it } from 'vitest'
import { aDelivery, now } from '../../../test/outbox/sample-delivery.ts'
import { nextMove } from './move.ts'

const first = aDelivery({ channel: 'github-check', name: 'check', providerId: null, memo: {} })

it('a first one on a thread that is younger than the store is made at once', () => {
  expect(nextMove(first, false, now)).toEqual({ what: 'write', action: 'create' })
})

it('a first one on a thread that is older is looked for', () => {
  expect(nextMove(first, true, now)).toEqual({ what: 'look-first' })
})

it('one that a restored store may have forgotten is looked for, however young its thread', () => {
  const forgotten = { ...first, memo: { restored: { laterKeys: [] } } }
  expect(nextMove(forgotten, false, now)).toEqual({ what: 'look-first' })
  const sought = { ...forgotten, memo: { ...forgotten.memo, looked: true as const } }
  expect(nextMove(sought, false, now)).toEqual({ what: 'write', action: 'create' })
})
