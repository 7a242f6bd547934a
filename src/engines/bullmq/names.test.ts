import { expect, it } from 'vitest'
import { jobIdOf, QueueNames, wakeUpOf } from './names.ts'

const names = new QueueNames('0123abcd')

it('a job id has the run and its fence, and leads back to them', () => {
  const wakeUp = { runId: 'run_01hxyz', fence: 4711, type: 'review' }
  expect(jobIdOf(wakeUp)).toBe('run_01hxyz-4711')
  expect(wakeUpOf('run_01hxyz-4711', 'review')).toEqual(wakeUp)
})

it.each([
  ['review', 'review'],
  ['docs.build_v2-x', 'docs.build_v2-x'],
  ['agent/plan', 'agent%2Fplan'],
  ['agent%2Fplan', 'agent%252Fplan'],
  ['a:b', 'a%3Ab'],
  ['a\ud800b', 'a%EF%BF%BDb'],
])('the type %j has the queue %s', (type, queue) => {
  expect(names.queue(type)).toBe(queue)
})

it('everything on Redis begins with the id of the store', () => {
  const all = [
    ...[names.waitingList('a'), names.presenceChannel('a')],
    ...[names.lostChannel, names.probe],
  ]
  expect(new Set(all).size).toBe(4)
  for (const name of all) expect(name).toMatch(/^holdfast:0123abcd:/)
})
