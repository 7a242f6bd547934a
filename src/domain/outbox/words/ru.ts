/** Russian. The gender of a type's name is unknown, so no word agrees with it. */
import { twoLargest, type Words } from './words.ts'

export const russian: Words = {
  state: {
    queued: 'ожидает исполнителя',
    running: 'выполняется',
    waiting: 'ожидает ответа человека',
    passed: 'успешно',
    refused: 'не пройдено',
    neutral: 'завершено, без оценки',
    failed: 'ошибка',
    timed_out: 'время вышло',
    lost: 'исполнитель потерян',
    no_worker: 'нет исполнителя',
    cancelled: 'отменено',
    skipped: 'пропущено',
    superseded: 'заменено более новым коммитом',
  },
  reason: {
    no_worker: 'За отведённое время работу никто не взял.',
    timeout: 'Работа не уложилась в отведённое время и была остановлена.',
    worker_lost: 'Исполнитель перестал отвечать, результата нет.',
    attempts_exhausted: 'Слишком много исполнителей подряд было потеряно, результата нет.',
    step_unresolved: 'За отведённое время никто не решил, был ли выполнен один из шагов.',
    pull_request_closed: 'Пул-реквест закрыт.',
    superseded: 'Его место занял более новый коммит.',
    filtered: 'Эта работа исключена правилами.',
  },
  headNewer: (type, sha, author, time) =>
    `Не запущено: ${type}. \`${author}\` попросил об этом в ${time}, а коммит ${sha} мог быть ` +
    'отправлен позже. Проверьте коммит и напишите комментарий ещё раз.',
  status: {
    pending: 'Ожидается результат',
    outcome: {
      success: 'Успешно',
      failure: 'Не пройдено',
      neutral: 'Завершено, без оценки',
      failed: 'Ошибка',
    },
    ended: {
      no_worker: 'Нет исполнителя: за отведённое время работу никто не взял',
      timeout: 'Время вышло',
      worker_lost: 'Исполнитель потерян, результата нет',
      attempts_exhausted: 'Исполнитель потерян слишком много раз, результата нет',
      step_unresolved: 'За отведённое время никто не принял решение о шаге',
      pull_request_closed: 'Отменено: пул-реквест закрыт',
      superseded: 'Заменено более новым коммитом',
      cancelled: 'Отменено',
    },
    failed: (why) => `Ошибка: ${why}`,
    skipped: (why) => (why === null ? 'Пропущено' : `Пропущено: ${why}`),
    filtered: 'исключено правилами',
  },
  anchor: {
    // The form that follows a day.
    months: 'янв фев мар апр мая июн июл авг сен окт ноя дек'.split(' '),
    commit: 'Коммит',
    base: 'база',
    queuedAt: (time) => `в очереди с ${time}`,
    startedAt: (time) => `начато ${time}`,
    endedAt: (time) => `завершено ${time}`,
    attempt: (count) => `попытка ${count}`,
    round: (count) => `раунд ${count}`,
    duration: (length) =>
      twoLargest(length, { days: 'д', hours: 'ч', minutes: 'мин', seconds: 'с' }),
    phase: {
      pending: '',
      active: 'выполняется',
      waiting_approval: 'ожидает одобрения',
      blocked: 'заблокировано',
      complete: '',
      failed: 'ошибка',
    },
    morePhases: (count) => `и ещё ${count} ${plural(count, 'этап', 'этапа', 'этапов')}`,
    reports: 'Ход работы',
    past: 'Прошлые запуски',
    pastCount: (count) =>
      `${count} ${plural(count, 'прошлый запуск', 'прошлых запуска', 'прошлых запусков')}`,
    pastMore: (count) =>
      `и ещё ${count} ${plural(count, 'более ранний', 'более ранних', 'более ранних')}`,
    pastState: {
      // A newer run took the comment over while this one was active.
      pending: 'заменено',
      running: 'заменено',
      waiting: 'заменено',
      succeeded: 'завершено',
      failed: 'ошибка',
      cancelled: 'отменено',
      skipped: 'пропущено',
      superseded: 'заменено',
    },
    details: 'Подробности',
    rerun: (command) => `Запустить снова: ${command}`,
    shortened: '_Сокращено: остальное не поместилось в комментарий._',
  },
}

/** As in: 1, 21 коммит; 2, 34 коммита; 5, 11, 112 коммитов. */
export function plural(count: number, one: string, few: string, many: string): string {
  const tens = count % 100
  const ones = count % 10
  if (tens >= 11 && tens <= 14) return many
  if (ones === 1) return one
  return ones >= 2 && ones <= 4 ? few : many
}
