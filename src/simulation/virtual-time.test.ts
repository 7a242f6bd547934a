import { expect, test } from 'vitest'
import { VirtualTime } from './virtual-time.ts'

test('timers fire in the order of their times, then in the order they were set', async () => {
  const time = new VirtualTime(1000)
  const fired: string[] = []
  const note = (what: string) => () => void fired.push(`${what}@${time.wallMs()}`)
  time.after(30, note('c'))
  time.after(10, note('a'))
  time.after(10, note('b'))
  const cancel = time.after(20, note('never'))
  time.after(5, () => time.after(5, note('late')))
  cancel()
  await time.pass(29)
  expect(fired).toEqual(['a@1010', 'b@1010', 'late@1010'])
  expect(time.wallMs()).toBe(1029)
  await time.pass(1)
  expect(fired.at(-1)).toBe('c@1030')
})

test('a thousand timers set in any order fire in order', async () => {
  const time = new VirtualTime(0)
  const fired: number[] = []
  for (let n = 0; n < 1000; n += 1) {
    const at = (n * 7919) % 1000
    time.after(at, () => void fired.push(at))
  }
  await time.pass(1000)
  expect(fired).toEqual([...fired].sort((a, b) => a - b))
  expect(fired).toHaveLength(1000)
})

test('work that needs no time is finished before the next timer', async () => {
  const time = new VirtualTime(0)
  const order: string[] = []
  time.after(1, () => {
    void new Response('text').text().then((text) => order.push(text))
  })
  time.after(2, () => void order.push('next'))
  await time.pass(5)
  expect(order).toEqual(['text', 'next'])
})

test('time passes until a condition holds, or for the longest time given', async () => {
  const time = new VirtualTime(0)
  let done = false
  time.after(700, () => (done = true))
  expect(await time.passUntil(() => done, 500)).toBe(false)
  expect(await time.passUntil(() => done, 500)).toBe(true)
  expect(time.wallMs()).toBe(700)
})
