/** Goal: what may stand on GitHub already is looked for before it is made. */
import { expect, it } from 'vitest'
import { aDelivery, now } from '../../../test/outbox/sample-delivery.ts'
import { channelsByName } from '../../channels/github-channels.ts'
import { nextStep } from './next-step.ts'

const channel = channelsByName.of('github-check')
const first = aDelivery({ channel: 'github-check', name: 'check', providerId: null, protocol: {} })

it('a first one on a thread that is younger than the store is made at once', () => {
  expect(nextStep(first, channel, false, now)).toEqual({ what: 'write', action: 'create' })
})

it('a first one on a thread that is older is looked for', () => {
  expect(nextStep(first, channel, true, now)).toEqual({ what: 'look-first' })
})

it('one that a restored store may have forgotten is looked for, however young its thread', () => {
  const forgotten = { ...first, protocol: { restored: { laterKeys: [] } } }
  expect(nextStep(forgotten, channel, false, now)).toEqual({ what: 'look-first' })
  const sought = { ...forgotten, protocol: { ...forgotten.protocol, looked: true as const } }
  expect(nextStep(sought, channel, false, now)).toEqual({ what: 'write', action: 'create' })
})
