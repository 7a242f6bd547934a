import { beforeEach, describe, expect, it } from 'vitest'
import { NodePorts, type Step } from './node-ports.ts'
import { SeededRandom } from './seeded-random.ts'
import { VirtualTime } from './virtual-time.ts'

let time: VirtualTime
let ports: NodePorts
let arrived: number
let strike: (step: Step) => void

beforeEach(() => {
  time = new VirtualTime(0)
  arrived = 0
  strike = () => undefined
  ports = new NodePorts({
    time,
    random: new SeededRandom(1),
    fetch: () => {
      arrived += 1
      return Promise.resolve(new Response('{}'))
    },
    onStep: (step) => strike(step),
    onRequest: () => undefined,
    latencyMs: 0,
  })
})

const resolves = async (promise: Promise<unknown>): Promise<boolean> => {
  let done = false
  void promise.then(() => (done = true))
  await time.pass(200_000)
  return done
}

describe('a node that crashes', () => {
  it('gets no timer, no answer and no commit any more', async () => {
    let fired = false
    ports.scheduler.after(10, () => (fired = true))
    const answer = ports.fetch('http://github.localhost/')
    const read = ports.carry('read', () => Promise.resolve(1))
    ports.crash()
    expect(await resolves(answer)).toBe(false)
    expect(await resolves(read)).toBe(false)
    expect(fired).toBe(false)
    expect(arrived).toBe(1)
  })

  it('directly after a commit leaves it committed, and gets no answer', async () => {
    let committed = 0
    strike = (step) => step === 'after commit' && ports.crash()
    const written = ports.carry('write', () => Promise.resolve((committed += 1)))
    expect(await resolves(written)).toBe(false)
    expect(committed).toBe(1)
  })

  it('directly before a commit leaves it committed or not, at random', async () => {
    const outcomes = new Set<number>()
    for (let seed = 0; seed < 20; seed += 1) {
      let committed = 0
      const options = { time, random: new SeededRandom(seed), fetch, onRequest: () => undefined }
      const onStep = (): void => crashing.crash()
      const crashing: NodePorts = new NodePorts({ ...options, onStep, latencyMs: 0 })
      void crashing.carry('write', () => Promise.resolve((committed += 1)))
      await time.drain()
      outcomes.add(committed)
    }
    expect([...outcomes].sort()).toEqual([0, 1])
  })
})

describe('a node that is paused', () => {
  it('gets everything late, in order', async () => {
    const arrivals: string[] = []
    ports.pause()
    ports.scheduler.after(10, () => arrivals.push(`timer at ${time.wallMs()}`))
    void ports.carry('read', () => Promise.resolve('read')).then((what) => arrivals.push(what))
    void ports.fetch('http://github.localhost/').then(() => arrivals.push('answer'))
    await time.pass(50)
    expect(arrivals).toEqual([])
    expect(arrived).toBe(0)
    ports.resume()
    await time.pass(0)
    expect(arrivals).toEqual(['timer at 50', 'read', 'answer'])
  })

  it('does not fire a timer that was cancelled meanwhile', async () => {
    let fired = false
    const cancel = ports.scheduler.after(10, () => (fired = true))
    ports.pause()
    await time.pass(50)
    cancel()
    ports.resume()
    expect(fired).toBe(false)
  })
})
