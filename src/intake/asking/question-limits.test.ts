// Goal: if one party's questions hang, the others still have room; a stop waits for no room.
import { expect, it } from 'vitest'
import { QuestionLimits, Stopping } from './question-limits.ts'

/** Questions that are open until a test answers them. */
function asking(room: QuestionLimits) {
  const open: { readonly party: string; readonly answer: () => void }[] = []
  const ask = (party: string) =>
    room.within(party, () => new Promise<void>((answer) => open.push({ party, answer })))
  return { open, ask, parties: () => open.map(({ party }) => party) }
}
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

it('one party may have eight questions open, and the others can still ask', async () => {
  const { ask, parties, open } = asking(new QuestionLimits())
  for (let n = 0; n < 100; n++) void ask('silent')
  void ask('other')
  await turns()
  expect(parties()).toEqual([...Array.from({ length: 8 }, () => 'silent'), 'other'])
  open[0]?.answer()
  await turns()
  expect(parties().filter((party) => party === 'silent')).toHaveLength(9)
})

it('64 questions may be open in all, and the parties that wait take turns', async () => {
  const { ask, parties, open } = asking(new QuestionLimits())
  for (let n = 0; n < 80; n++) void ask(`first ${n % 8}`)
  for (const party of ['late', 'later']) void ask(party)
  await turns()
  expect(parties()).toHaveLength(64)
  for (const { answer } of open.slice(0, 24)) answer()
  await turns()
  expect(parties().slice(64)).toEqual(expect.arrayContaining(['late', 'later']))
})

it('after a stop no question waits for room, and open questions are answered', async () => {
  const room = new QuestionLimits()
  const { ask, open } = asking(room)
  const asked = Array.from({ length: 9 }, () => ask('silent'))
  await turns()
  room.stop()
  await expect(asked[8]).rejects.toBeInstanceOf(Stopping)
  await expect(ask('silent')).rejects.toBeInstanceOf(Stopping)
  const another = ask('another')
  await turns()
  for (const { answer } of open) answer()
  await Promise.all([...asked.slice(0, 8), another])
  expect(open).toHaveLength(9)
})
