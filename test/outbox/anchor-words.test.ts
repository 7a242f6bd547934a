/**
 * Goal: what the comment says about a run's progress, and in which language, from its first to its
 * last word.
 * Method: the test reads the comment on the simulated GitHub.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { Claimed } from '../../src/runs/runs.ts'
import type { World } from './world.ts'
import { context, creates, edits, head, minute, openWorld, repo, second } from './world.ts'

let world: World | undefined
afterEach(async () => await world?.close())

async function begun(options: Parameters<typeof openWorld>[0] = {}): Promise<[World, Claimed]> {
  const here = await openWorld(options)
  world = here
  here.startPublisher()
  const claimed = await here.claim()
  await here.time.pass(5 * second)
  return [here, claimed]
}

const anchor = ({ github }: World) => github.comments(repo, 5)[0]
const body = (here: World): string => anchor(here)?.body ?? ''
/** The lines with reports, without their heading. */
const progress = (here: World): string[] => {
  const lines = body(here).split('\n')
  const after = lines.slice(lines.indexOf('**Progress**') + 1)
  return after.slice(0, after.indexOf(''))
}

it('after 500 reports Holdfast still edits the first comment (C8)', async () => {
  const [here, claimed] = await begun()
  const first = anchor(here)
  for (let n = 1; n <= 500; n++) {
    await here.report(claimed, `report ${n}`)
    await here.time.pass(100)
  }
  await here.time.pass(2 * minute)
  expect(anchor(here)?.id).toBe(first?.id)
  expect(body(here)).toContain('report 500')
  const before = edits(here.github)
  await here.complete(claimed, 'The end.')
  await here.time.pass(minute)
  expect(edits(here.github) - before).toBe(1)
  expect(creates(here.github)).toBe(1)
  expect(here.github.comments(repo, 5)).toHaveLength(1)
  expect(body(here)).toContain('The end.')
})

describe('reports (C14)', () => {
  // The clock starts at noon, UTC, on 1 June.
  const reportTimes = async (here: World, claimed: Claimed, text: string, times: number) => {
    for (let n = 0; n < times; n++) await here.report(claimed, text)
    await here.time.pass(minute)
  }

  it('the last three groups are shown, each with its count', async () => {
    const [here, claimed] = await begun()
    await reportTimes(here, claimed, 'clone', 2)
    await reportTimes(here, claimed, 'read', 4)
    await reportTimes(here, claimed, 'think', 1)
    await reportTimes(here, claimed, 'write', 12)
    expect(progress(here)).toEqual(['- 12:01 read ×4', '- 12:02 think', '- 12:03 write ×12'])
    await reportTimes(here, claimed, 'write', 1)
    expect(progress(here).at(-1)).toBe('- 12:04 write ×13')
    await reportTimes(here, claimed, 'read', 1)
    expect(progress(here)).toEqual(['- 12:02 think', '- 12:04 write ×13', '- 12:05 read'])
  })

  it('show only the time on the newest report’s UTC day, otherwise the date too', async () => {
    world = await openWorld()
    const claimed = await world.claim()
    await world.report(claimed, 'at noon')
    await world.time.pass(Date.UTC(2026, 5, 2) - world.time.wallMs() - second)
    await world.report(claimed, 'before midnight')
    world.startPublisher()
    await world.time.pass(10 * minute)
    expect(progress(world)).toEqual(['- 12:00 at noon', '- 23:59 before midnight'])
    await world.report(claimed, 'after midnight')
    await world.time.pass(10 * minute)
    expect(progress(world)).toEqual([
      '- 1 Jun 12:00 at noon',
      '- 1 Jun 23:59 before midnight',
      '- 00:09 after midnight',
    ])
  })
})

const isRussian = (text: string): boolean => /[а-я]/i.test(text)

describe.each([
  ['ru-RU', 'ru'],
  ['ru', 'ru'],
  ['ru_RU', 'ru'],
  ['en-GB', 'en'],
  ['de', 'en'],
] as const)('the locale %s (C13)', (locale, language) => {
  it(`speaks ${language}, from the first word to the last`, async () => {
    const [here, claimed] = await begun({ announcement: { locale } })
    const bodies = [body(here)]
    await here.report(claimed, 'step')
    await here.time.pass(minute)
    bodies.push(body(here))
    await here.complete(claimed)
    await here.time.pass(minute)
    bodies.push(body(here))
    expect(new Set(bodies).size).toBe(3)
    expect(bodies.map(isRussian)).toEqual(bodies.map(() => language === 'ru'))
    expect(bodies[1]).toContain(language === 'ru' ? '**Ход работы**' : '**Progress**')
    const descriptions = here.github
      .statuses(repo, head(1), context)
      .map((each) => each.description ?? '')
    expect(descriptions.map(isRussian)).toEqual([language === 'ru', language === 'ru'])
  })
})

it('a comment keeps its first language after the setting was changed (C13)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-locale-'))
  const path = join(folder, 'holdfast.db')
  const [here] = await begun({ path, announcement: { locale: 'ru-RU' } })
  const changed = await openWorld({ path, beside: here, announcement: { locale: 'en' } })
  try {
    expect(isRussian(body(here))).toBe(true)
    here.github.push(repo, 5, head(2))
    await changed.complete(await changed.claim(2), 'Second.')
    await here.time.pass(minute)
    expect(body(here)).toContain('Second.')
    expect(isRussian(body(here))).toBe(true)
  } finally {
    await changed.close()
    await here.close()
    world = undefined
    rmSync(folder, { recursive: true })
  }
})
