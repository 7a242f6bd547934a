import { EventEmitter, getEventListeners } from 'node:events'
import type { FastifyReply } from 'fastify'
import { expect, it } from 'vitest'
import { goneSignal } from './held-request.ts'

const replyOf = (destroyed: boolean) => {
  const raw = Object.assign(new EventEmitter(), { destroyed })
  return { raw, reply: { raw } as unknown as FastifyReply }
}

it('the signal fires when the caller leaves or the server stops, and leaves nothing behind', () => {
  const stopping = new AbortController()
  const [one, other] = [replyOf(false), replyOf(false)]
  const left = goneSignal(one.reply, stopping.signal)
  const stopped = goneSignal(other.reply, stopping.signal)
  one.raw.emit('close')
  expect([left.aborted, stopped.aborted]).toEqual([true, false])
  expect(getEventListeners(stopping.signal, 'abort')).toHaveLength(1)
  stopping.abort()
  expect(stopped.aborted).toBe(true)
})

it('the signal has already fired for a caller that left before', () => {
  const stopping = new AbortController()
  expect(goneSignal(replyOf(true).reply, stopping.signal).aborted).toBe(true)
  expect(getEventListeners(stopping.signal, 'abort')).toHaveLength(0)
})
