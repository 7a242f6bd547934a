/** Goal: before Holdfast creates an output that may already be on GitHub, it looks for it. */
import { expect, it } from 'vitest'
import { aDelivery, now } from '../../../../test/outbox/sample-delivery.ts'
import { channelsByName } from '../../../channels/github-channels.ts'
import { nextStep } from './next-step.ts'

const channel = channelsByName.of('github-check')
const first = aDelivery({ channel: 'github-check', name: 'check', providerId: null, protocol: {} })

it('the first output on a thread that is younger than the store is created at once', () => {
  expect(nextStep(first, channel, false, now)).toEqual({ what: 'write', action: 'create' })
})

it('the first output on a thread that is older than the store is looked for', () => {
  expect(nextStep(first, channel, true, now)).toEqual({ what: 'look-first' })
})

it('an output that a restored store may not know is looked for, even on a new thread', () => {
  const forgotten = { ...first, protocol: { restored: { laterKeys: [] } } }
  expect(nextStep(forgotten, channel, false, now)).toEqual({ what: 'look-first' })
  const looked = { ...forgotten, protocol: { ...forgotten.protocol, looked: true as const } }
  expect(nextStep(looked, channel, false, now)).toEqual({ what: 'write', action: 'create' })
})
