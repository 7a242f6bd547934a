// Goal: a refusal is written in the language of the run, however the locale is spelled.
import { expect, test } from 'vitest'
import { channelsByName } from '../../channels/github-channels.ts'
import type { Run } from '../run.ts'
import { refusalOutput } from './refusal.ts'

const comment = { id: 7, writtenAt: Date.UTC(2026, 5, 1, 12), author: 'octocat' }
const contentIn = (locale: string): unknown => {
  const run = { locale, type: 'review', subject: 'pr-5', pr: 5, headSha: 'a'.repeat(40) } as Run
  return refusalOutput(run, 'rep_1', comment, channelsByName)!.content
}

test.each([
  ['ru', 'ru'],
  ['ru-RU', 'ru'],
  ['en-GB', 'en'],
  ['de', 'en'],
])('a run with the locale %s gets a refusal in %s (C13)', (locale, language) => {
  expect(contentIn(locale)).toEqual(contentIn(language))
  expect(contentIn('ru')).not.toEqual(contentIn('en'))
})
